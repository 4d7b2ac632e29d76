from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def messages(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location(
        "messages", ROOT / "scripts/messages.py"
    )
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "messages", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "LOCALE", tmp_path / "locale/ko")
    monkeypatch.setattr(
        module, "CATALOGUE", tmp_path / "locale/ko/LC_MESSAGES/django.po"
    )
    (tmp_path / "locale/ko/parts").mkdir(parents=True)
    (tmp_path / "portal").mkdir()
    (tmp_path / "templates").mkdir()
    (tmp_path / "portal/a.py").write_text(
        "from django.utils.translation import gettext as _, ngettext, pgettext\n"
        'a = _("One sentence.")\n'
        'b = ngettext("%(n)d card", "%(n)d cards", 2)\n'
        'c = pgettext("menu", "Open")\n'
    )
    (tmp_path / "templates/a.html").write_text(
        '{% translate "From a template" %}'
        "{% blocktranslate with x=1 %}{{ x }} left{% endblocktranslate %}"
    )
    return module


def _part(messages, name, **texts):
    (messages.LOCALE / "parts" / f"{name}.json").write_text(json.dumps(texts))


ALL = {
    "One sentence.": "한 문장.",
    "%(n)d card\x00%(n)d cards": "카드 %(n)d장",
    "menu\x04Open": "열기",
    "From a template": "템플릿에서",
    "%(x)s left": "%(x)s 남음",
}


def test_collect_finds_python_and_templates(messages):
    assert set(messages.collect()) == set(ALL)


def test_check_lists_what_has_no_korean(messages, capsys):
    _part(messages, "a", **{key: ALL[key] for key in list(ALL)[:3]}, Gone="없음")
    messages.update()
    capsys.readouterr()

    assert messages.check() == 1
    said = capsys.readouterr().out
    assert "no Korean: From a template" in said
    assert "no Korean: One sentence." not in said
    assert "warning: a translation of nothing: Gone" in said


def test_check_refuses_a_lost_placeholder(messages, capsys):
    _part(messages, "a", **{**ALL, "%(x)s left": "남음"})
    messages.update()

    assert messages.check() == 1
    assert "placeholders differ: %(x)s left" in capsys.readouterr().out


def test_update_then_compile_then_check(messages):
    _part(messages, "a", **ALL)

    assert messages.check() == 1  # the catalogue is behind
    assert messages.update() == 0
    assert messages.compile_all() == 0
    assert messages.check() == 0
    compiled = polib.mofile(str(messages.CATALOGUE.with_suffix(".mo")))
    texts = {entry.msgid: entry.msgstr or entry.msgstr_plural[0] for entry in compiled}
    assert texts["One sentence."] == "한 문장."
    assert texts["%(n)d card"] == "카드 %(n)d장"


def test_update_keeps_what_the_catalogue_had(messages):
    _part(messages, "a", **ALL)
    messages.update()
    (messages.LOCALE / "parts/a.json").unlink()
    messages.update()

    assert messages.check() == 0


FIXED_PARTICLE = re.compile(
    r"%\([a-z_]+\)[sd][”’]?(?:으로|[는은가이를을와과로])(?![가-힣(])"
)


@pytest.mark.parametrize(
    "part", sorted((ROOT / "locale/ko/parts").glob("*.json")), ids=lambda p: p.stem
)
def test_what_follows_a_free_name_fits_any_name(part):
    """A Korean particle goes by the last sound before it, which nobody knows here."""
    words = json.loads(part.read_text()).values()
    assert [each for each in words if FIXED_PARTICLE.search(str(each))] == []

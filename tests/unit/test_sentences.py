"""Sentences by code: known once, worded in the language that is active."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from claims.services import message_sentences
from inventory.gateways import sentences as of_clusters
from inventory.gateways.errors import error_of
from portal.approvals.services import sentences as of_approvals
from portal.core.sentences import Said, add_sentences, shown

TABLES = (message_sentences, of_clusters, of_approvals)
CODES = [code for table in TABLES for code in table.SENTENCES]


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_worded_in_korean_with_the_same_values(code):
    (sentence,) = (t.SENTENCES[code] for t in TABLES if code in t.SENTENCES)
    values = {name: 101 + at for at, name in enumerate(_places(sentence))}

    english = str(Said(code, values))
    with translation.override("ko"):
        korean = str(Said(code, values))

    assert korean != english
    assert re.search("[가-힣]", korean)
    assert all(str(value) in korean for value in values.values())


def _places(sentence):
    class Asked(dict):
        def __missing__(self, name):
            self[name] = 2
            return 2

    asked = Asked()
    _ = sentence % asked
    return list(asked)


def test_a_sentence_within_a_sentence_is_worded_too():
    error = error_of(403, {"message": "no"}, cluster="demo")

    document = error.said.document()

    with translation.override("ko"):
        korean = shown("", document)
    assert error.message.endswith("Ask who runs the cluster for that right.")
    assert "Ask who runs" not in korean
    assert korean.startswith("demo")


def test_one_code_has_one_sentence():
    with pytest.raises(ValueError, match=r"end\.over has a sentence already"):
        add_sentences({"end.over": "Another."})

"""Identities, kubeconfigs and errors, without a server."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from inventory.domain.kinds import BY_NAME, POD, RESOURCE_SLICE, WATCHED
from inventory.gateways import errors
from inventory.gateways.identity import AS_ITSELF, Identity
from inventory.gateways.kubeconfig import connect, standing_alone
from inventory.gateways.transport import Call, _decoded, _headers, encoded
from tests.simcluster.conftest import eventually

# Identities


def test_our_own_account_impersonates_nobody():
    assert AS_ITSELF.headers() == []


def test_a_person_is_impersonated_with_groups_and_extra():
    headers = Identity(
        "ada@orchid", ("a", "b"), {"slicewise.io/Request-Id": "1"}
    ).headers()
    assert headers == [
        ("Impersonate-User", "ada@orchid"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-slicewise.io%2Frequest-id", "1"),
    ]


def test_names_travel_as_their_utf8_bytes():
    (_name, value), *_ = Identity("아다").headers()
    assert value.encode("latin-1").decode() == "아다"


@pytest.mark.parametrize(
    "identity",
    [
        Identity("system:admin"),
        Identity(" System:Admin"),
        Identity("ada", ("system:masters",)),
        Identity(""),
        Identity("ada", ("",)),
        Identity(None, ("a",)),
        Identity("ada\r\nImpersonate-Group: system:masters"),
        Identity("ada", (), {"k": "a\nb"}),
    ],
)
def test_what_we_never_act_as(identity):
    with pytest.raises(errors.BadIdentity):
        identity.headers()


def test_several_groups_are_several_headers():
    connection = connect("demo", kubeconfig())
    headers = _headers(
        connection, Call("GET", "/"), Identity("a", ("b", "c")).headers()
    )
    assert headers.getlist("Impersonate-Group") == ["b", "c"]
    assert headers["Authorization"] == "Bearer t0ken"


# Kinds


def test_paths():
    assert POD.path("v1", "ns", "a") == "/api/v1/namespaces/ns/pods/a"
    assert POD.path("v1") == "/api/v1/pods"
    assert RESOURCE_SLICE.path("v1beta1", "ignored", "s") == (
        "/apis/resource.k8s.io/v1beta1/resourceslices/s"
    )
    assert len({kind.kind for kind in WATCHED}) == len(WATCHED) == 13
    assert BY_NAME["Event"].path("v1", "ns") == "/api/v1/namespaces/ns/events"


# Kubeconfigs


def kubeconfig(**cluster) -> str:
    return json.dumps(
        {
            "clusters": [
                {"name": "c", "cluster": {"server": "http://127.0.0.1:1"} | cluster}
            ],
            "users": [{"name": "u", "user": {"token": "t0ken"}}],
            "contexts": [
                {"name": "x", "context": {"cluster": "c", "user": "u"}},
                {"name": "anonymous", "context": {"cluster": "c"}},
                {"name": "broken", "context": {"cluster": "gone", "user": "u"}},
            ],
            "current-context": "x",
        }
    )


def test_files_are_embedded_and_one_context_kept(tmp_path):
    (tmp_path / "ca.crt").write_bytes(b"certificate")
    path = tmp_path / "config"
    path.write_text(kubeconfig(**{"certificate-authority": "ca.crt"}))
    kept = json.loads(standing_alone(path))
    assert kept["clusters"][0]["cluster"] == {
        "server": "http://127.0.0.1:1",
        "certificate-authority-data": base64.b64encode(b"certificate").decode(),
    }
    assert len(kept["contexts"]) == 1
    assert kept["users"][0]["user"] == {"token": "t0ken"}
    assert connect("demo", json.dumps(kept)).client.configuration.retries is False


def test_a_token_file_stays_a_file(tmp_path):
    parsed = json.loads(kubeconfig())
    parsed["users"][0]["user"] = {"tokenFile": "token"}
    (tmp_path / "token").write_text("fresh")
    path = tmp_path / "config"
    path.write_text(json.dumps(parsed))
    kept = standing_alone(path)
    assert json.loads(kept)["users"][0]["user"]["tokenFile"] == str(tmp_path / "token")
    connection = connect("demo", kept)
    assert _headers(connection, Call("GET", "/"), [])["Authorization"] == "Bearer fresh"


def test_an_anonymous_context_sends_no_token(tmp_path):
    path = tmp_path / "config"
    path.write_text(kubeconfig())
    connection = connect("demo", standing_alone(path, context="anonymous"))
    assert "Authorization" not in _headers(connection, Call("GET", "/"), [])


def test_an_exec_plugin_gives_the_token(tmp_path):
    plugin = tmp_path / "plugin"
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-plugin"},
    }
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    os.chmod(plugin, 0o700)
    parsed = json.loads(kubeconfig())
    parsed["users"][0]["user"] = {
        "exec": {"apiVersion": answer["apiVersion"], "command": str(plugin)}
    }
    connection = connect("demo", json.dumps(parsed))
    headers = _headers(connection, Call("GET", "/"), [])
    assert headers["Authorization"] == "Bearer from-plugin"
    parsed["users"][0]["user"]["exec"]["command"] = "/bin/false"
    with pytest.raises(errors.BadKubeconfig, match="gives no credentials: it ended"):
        connect("demo", json.dumps(parsed))


def running(tmp_path, script, **more):
    """Return a kubeconfig whose program is a shell script."""
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\n{script}\n")
    plugin.chmod(0o700)
    version = "client.authentication.k8s.io/v1"
    parsed = json.loads(kubeconfig())
    parsed["users"][0]["user"] = {
        "exec": {"apiVersion": version, "command": str(plugin), **more}
    }
    return json.dumps(parsed)


def test_an_exec_plugin_that_hangs_is_ended_with_its_own(tmp_path, monkeypatch):
    from inventory.gateways import exec_credentials

    monkeypatch.setattr(exec_credentials, "SECONDS", 0.3)
    script = f"sleep 300 & echo $! >{tmp_path}/child; echo $$ >{tmp_path}/own; wait"

    with pytest.raises(errors.BadKubeconfig, match=r"did not end within 0\.3 seconds"):
        connect("demo", running(tmp_path, script))

    for name in ("own", "child"):
        process = Path(f"/proc/{(tmp_path / name).read_text().strip()}")
        # It dies, and whoever adopts it looks, when it is their turn.
        eventually(lambda of=process: not _is_alive(of))


def _is_alive(process):
    try:
        return "State:\tZ" not in (process / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ("nothing", "gives no credentials"),
        ('{"kind": "ExecCredential", "status": {"token": "x"}}', "does not speak"),
        (
            '{"apiVersion": "client.authentication.k8s.io/v1", "status": {}}',
            "gives no credentials",
        ),
    ],
)
def test_an_exec_plugin_that_gives_nothing_is_said(tmp_path, printed, says):
    with pytest.raises(errors.BadKubeconfig, match=says):
        connect("demo", running(tmp_path, f"echo '{printed}'"))


def test_an_exec_plugin_is_told_of_the_cluster_and_renews_its_token(tmp_path):
    answer = (
        '{"apiVersion": "client.authentication.k8s.io/v1", "status": {"token":'
        ' "t%s", "expirationTimestamp": "2020-01-01T00:00:00Z"}}'
    )
    script = (
        f'echo "$KUBERNETES_EXEC_INFO" >{tmp_path}/told; echo x >>{tmp_path}/runs;'
        f" printf '{answer}' $(wc -l <{tmp_path}/runs)"
    )
    connection = connect("demo", running(tmp_path, script, provideClusterInfo=True))

    # It has run out at once, so that each call has it run again.
    first = _headers(connection, Call("GET", "/"), [])["Authorization"]

    assert first == "Bearer t2"
    told = json.loads((tmp_path / "told").read_text())
    assert told["spec"]["cluster"]["server"]
    assert told["spec"]["interactive"] is False


@pytest.mark.parametrize(
    ("text", "context", "said"),
    [
        ("a: [", "", "no YAML"),
        ("- 1", "", "lists no clusters"),
        ("\x00", "", "no YAML"),
        ("clusters: []", "", "no current-context"),
        (kubeconfig(), "nope", "contexts lacks 'nope'; it has x, anonymous, broken"),
        (kubeconfig(), "broken", "clusters lacks 'gone'"),
        (kubeconfig(server=""), "", "no server address"),
        (kubeconfig(**{"certificate-authority": "nope.crt"}), "", "No such file"),
        (kubeconfig(**{"certificate-authority-data": "?"}), "", "no base64"),
        (
            "{clusters: [{name: c, cluster: 3}], contexts: [3], current-context: x}",
            "",
            "lacks",
        ),
    ],
)
def test_a_bad_kubeconfig_is_one_sentence(tmp_path, text, context, said):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(errors.BadKubeconfig, match=said) as caught:
        standing_alone(path, context=context)
    assert "\n" not in caught.value.message
    assert caught.value.message.endswith("Give one that works with kubectl.")


def test_no_file_and_no_pod(tmp_path):
    with pytest.raises(errors.BadKubeconfig, match="No such file"):
        standing_alone(tmp_path / "nope")
    with pytest.raises(errors.BadKubeconfig, match="not set"):
        connect("demo", "")


# Errors


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (401, "Unauthorized", errors.ClusterUnauthorized),
        (403, "Forbidden", errors.ClusterForbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.ConflictingVersion),
        (410, "Expired", errors.WatchExpired),
        (422, "Invalid", errors.Invalid),
        (400, "BadRequest", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ClusterUnavailable),
        (503, "", errors.ClusterUnavailable),
        (302, "", errors.KubeError),
    ],
)
def test_each_answer_has_its_error(status, reason, kind):
    body = {"reason": reason, "message": "some\nlong " + "x" * 1000}
    error = errors.error_of(status, body, cluster="demo")
    assert type(error) is kind
    assert error.status == status
    assert error.reason == reason
    assert len(error.server_message) <= errors.LONGEST_MESSAGE
    assert "\n" not in error.message
    assert error.message.startswith("demo answers: some long xxx")
    assert error.exit_status == (
        3 if issubclass(kind, errors.ClusterUnavailable) else 2
    )


def test_causes_name_the_fields():
    cause = {
        "reason": "FieldValueRequired",
        "field": "spec.devices",
        "message": "needed",
    }
    error = errors.error_of(
        422, {"message": "m", "details": {"causes": [cause, "odd"]}}, cluster="demo"
    )
    assert error.causes == (
        errors.Cause("spec.devices", "FieldValueRequired", "needed"),
    )


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("7", None, 7),
        ("", {"retryAfterSeconds": 3}, 3),
        ("x", None, 1),
        ("9999", None, 60),
    ],
)
def test_how_long_to_wait(header, details, seconds):
    error = errors.error_of(429, {"details": details}, cluster="d", retry_after=header)
    assert error.retry_after == seconds


def test_an_answer_that_is_no_status():
    error = errors.error_of(404, None, cluster="demo")
    assert error.message == (
        "demo answers: HTTP 404. Check the name and the namespace."
    )


def test_nul_characters_do_not_reach_the_database():
    assert _decoded(rb'{"a\u0000": ["b\u0000c", {"d": "\\u0000"}]}') == {
        "a\ufffd": ["b\ufffdc", {"d": r"\u0000"}]
    }
    assert _decoded(b"[1]") is None
    assert _decoded(b"<html>") is None


def test_bodies_are_written_as_go_writes_them():
    body = {"b": ["<한글>", 1.5, None], "a": "x && \u2028"}
    text = b'{"a":"x \\u0026\\u0026 \\u2028","b":["\\u003c\xed\x95\x9c\xea\xb8\x80\\u003e",1.5,null]}'
    assert encoded(body) == text

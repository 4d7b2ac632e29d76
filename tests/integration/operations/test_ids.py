"""The id of a request reaches the logs of the task that it started."""

from __future__ import annotations

import structlog

from portal.celery import REQUEST_ID, _begin, app
from portal.core import wake


def test_a_message_carries_the_request_id(monkeypatch):
    sent = {}
    monkeypatch.setattr(
        wake.current_app, "send_task", lambda name, **kw: sent.update(kw)
    )
    wake._send("audit.seal", {}, "request-0001")
    assert sent["headers"] == {REQUEST_ID: "request-0001"}
    wake._send("audit.seal", {}, "")
    assert sent["headers"] == {}


def test_a_task_logs_under_it_and_the_next_does_not():
    app.loader.import_default_modules()
    task = app.tasks["audit.seal"]
    for given, seen in (("request-0001", "request-0001"), (None, None)):
        task.push_request(id="task-1", **({REQUEST_ID: given} if given else {}))
        try:
            _begin(task=task)
            bound = structlog.contextvars.get_contextvars()
            assert bound.get("request_id") == seen
            assert bound["task_id"] == "task-1"
        finally:
            task.pop_request()
            structlog.contextvars.clear_contextvars()

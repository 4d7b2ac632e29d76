"""Threads that begin with different parts of the `kubernetes` package at once."""

from __future__ import annotations

import subprocess
import sys

from portal.embedded import ROOT

CONFIG = """{"clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
"contexts": [{"name": "c", "context": {"cluster": "a", "user": "u"}}],
"users": [{"name": "u", "user": {"token": "t"}}], "current-context": "c"}"""
PROGRAM = f"""
import threading
from inventory.gateways.kubeconfig import connect
from inventory.gateways.transport import answering

CONFIG = {CONFIG!r}
together = threading.Barrier(4)
failed = []

def begin(number):
    together.wait()
    try:
        if number % 2:
            connect("a", CONFIG)
        else:
            with answering(None):
                pass
    except BaseException as error:
        failed.append(repr(error))

threads = [threading.Thread(target=begin, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failed)
"""


def test_four_threads_begin_at_once():
    for _attempt in range(2):
        found = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert found.stdout == "[]\n"

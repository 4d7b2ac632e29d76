"""2,000 slices from a file: at most 20 s and 400 MB, and a check on them in seconds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.db import connection

from tests.bench.large_fleet import document

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: big, namespace: orchid}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.nvidia.com
        count: 4
        selectors:
        - cel:
            expression: >-
              device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("79Gi")) >= 0
"""


def run(*arguments: str, data: bytes = b"") -> tuple[float, int]:
    """Run a command on the test database; return its seconds and largest size in bytes.

    Seconds of processor time: others may use the machine as well.
    """
    place = connection.settings_dict
    url = f"postgres://{place['USER']}@/{place['HOST']}/{place['NAME']}"
    script = (
        "import resource, subprocess, sys;"
        "code = subprocess.call([sys.executable, 'manage.py', *sys.argv[1:]]);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss);"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        input=data,
        capture_output=True,
        cwd=settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": url},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    seconds, size = done.stdout.split()[-2:]
    return float(seconds), int(size) * 1024


def test_loading_and_checking_a_large_fleet(tmp_path):
    fleet = tmp_path / "fleet.json"
    fleet.write_bytes(document(slices=2_000, per_slice=24))
    assert fleet.stat().st_size > 18_000_000

    seconds, size = run("load_cluster", "large", str(fleet))
    assert seconds < 20
    assert size < 400_000_000

    seconds, size = run("load_cluster", "large", str(fleet))
    assert seconds < 20
    assert size < 400_000_000

    seconds, _size = run("check_claim", "large", "-", data=CLAIM.encode())
    assert seconds < 15

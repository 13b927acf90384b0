"""Little address space is one message, before libraries are loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 20, resource.RLIM_INFINITY))
from relay_tune.cli.main import main
sys.exit(main(["check", "zoo:mlp"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux holds a process to the limit")
@pytest.mark.parametrize(("megabytes", "code"), [(200, 1), (420, 1), (1000, 1), (4096, 0)])
def test_too_little_address_space_is_one_message(megabytes: int, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(megabytes)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    if code:
        message, remedy = done.stderr.splitlines()
        assert message == (
            f"tune: error: This process may use {megabytes} MB of addresses, compiling needs "
            "1024 MB at least."
        )
        assert "ulimit -v" in remedy

"""A process that compiles: IR text on standard input, object files on standard output.

    python -m relay_tune.codegen.compile_worker '{"triple": ..., "cpu": ..., ...}' NICENESS

See `relay_tune.codegen.worker_pool` for how requests and replies look.
"""

from __future__ import annotations

import json
import os
import sys

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.target import Target
from relay_tune.codegen.worker_pool import Answer, serve
from relay_tune.codegen.worker_process import die_with_parent


def compiles_for(target: Target) -> Answer:
    """Answers texts with object files."""
    return lambda text: compile_text(text.decode(), target)


if __name__ == "__main__":
    die_with_parent()
    os.nice(int(sys.argv[2]))
    target = Target(**json.loads(sys.argv[1]))
    serve(sys.stdin.buffer, sys.stdout.buffer, compiles_for(target))

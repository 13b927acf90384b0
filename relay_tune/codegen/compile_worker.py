"""A process that compiles: IR text on standard input, object files on standard output.

    python -m relay_tune.codegen.compile_worker '{"triple": ..., "cpu": ..., ...}' NICENESS

A request is its length (8 bytes, little-endian) and the text; a reply is one byte (0: an object,
1: an error message), the length, and the content. The process ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
from typing import BinaryIO

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.target import Target
from relay_tune.codegen.worker_process import die_with_parent
from relay_tune.errors import BuildError

LENGTH_BYTES = 8


def serve(requests: BinaryIO, replies: BinaryIO, target: Target) -> None:
    """Answer requests until there are no more."""
    while True:
        head = requests.read(LENGTH_BYTES)
        if len(head) < LENGTH_BYTES:
            return
        text = requests.read(int.from_bytes(head, "little")).decode()
        status, content = _compiled(text, target)
        replies.write(status + len(content).to_bytes(LENGTH_BYTES, "little") + content)
        replies.flush()


def _compiled(text: str, target: Target) -> tuple[bytes, bytes]:
    try:
        return b"\0", compile_text(text, target)
    except BuildError as error:
        return b"\1", str(error).encode()


if __name__ == "__main__":
    die_with_parent()
    os.nice(int(sys.argv[2]))
    serve(sys.stdin.buffer, sys.stdout.buffer, Target(**json.loads(sys.argv[1])))

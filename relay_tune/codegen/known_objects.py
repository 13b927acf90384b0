"""Object files that this process has compiled: programs that are built again share most of them.

They are found by a digest of their text. A network that is built for another number of threads, or
of samples, with derivatives or with a limit of memory has many kernels in common with the one that
was built before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from threading import Lock

from relay_tune.codegen.target import Target

MOST_BYTES = 16 << 20
"""Of all objects; a convolutional network has a few hundred kB of them."""


class KnownObjects:
    """The objects that were asked for last, `most_bytes` at most."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._objects: dict[tuple[Target, bytes], bytes] = {}
        self._bytes = 0
        self._lock = Lock()

    def object_of(self, text: str, target: Target, compile_: Callable[[str], bytes]) -> bytes:
        """The object file of an LLVM module, by `compile_` unless it is known."""
        key = target, hashlib.sha256(text.encode()).digest()
        with self._lock:
            known = self._taken(key)
            if known is not None:
                self._keep(key, known)
                return known
        image = compile_(text)
        with self._lock:
            self._taken(key)  # another thread may have been quicker
            self._keep(key, image)
        return image

    def _taken(self, key: tuple[Target, bytes]) -> bytes | None:
        image = self._objects.pop(key, None)
        self._bytes -= len(image or b"")
        return image

    def _keep(self, key: tuple[Target, bytes], image: bytes) -> None:
        """As the one that was asked for last, in place of those that nobody has asked for since."""
        self._objects[key] = image
        self._bytes += len(image)
        while self._bytes > self._most_bytes:
            self._taken(next(iter(self._objects)))


KERNELS = KnownObjects(MOST_BYTES)
"""What `compile_text` has made for builds."""

PROGRAMS = KnownObjects(MOST_BYTES // 4)
"""What has been made for them of programs themselves, and of the jobs that call kernels."""

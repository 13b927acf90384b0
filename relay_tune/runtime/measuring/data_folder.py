"""The folder through which a kernel's data goes to the worker, for as long as that takes.

A process that is killed meanwhile leaves it behind, with all weights of the kernel. The next ones
remove it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

PREFIX = "relay_tune_kernel_"

ABANDONED_SECONDS = 3600.0
"""The age at which a folder belongs to nobody; handing over takes a minute at most."""


@contextmanager
def data_folder() -> Iterator[Path]:
    """An empty folder that is gone at the end of the block."""
    remove_abandoned(Path(gettempdir()))
    with TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def remove_abandoned(parent: Path) -> None:
    """Remove the old folders of killed processes of this user."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            is_old = folder.lstat().st_mtime < time.time() - ABANDONED_SECONDS
        except OSError:  # another process has removed it
            continue
        if is_old:
            shutil.rmtree(folder, ignore_errors=True)

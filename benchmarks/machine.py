"""What a measurement was made on, for the record."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

CPU_FILE = Path("/proc/cpuinfo")


def machine_description() -> dict[str, object]:
    """The processor, how many of them, the operating system, and the day."""
    return {
        "processor": processor_name(),
        "processors": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def processor_name() -> str:
    """The name that the processor gives itself."""
    if CPU_FILE.exists():
        for line in CPU_FILE.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

"""Damaged and forged libraries: each is refused with one message, or gives the right answers.

    python -m benchmarks.fuzz_libraries [--count 400] [--seed 0]

Libraries of a network with weights, of one whose sizes are open and of a program with recursion get
other bytes, lose some, are joined with each other; of some the description becomes odd while the
checksum agrees. Each is loaded, and called unless it was forged, in a process of its own: wrong is
a signal, an exception that is no RelayError, a process that hangs, another answer than before.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import relay_tune as rt
from benchmarks.fuzzing.apart import run_apart
from benchmarks.fuzzing.library_outcome import outcome
from benchmarks.interruptible import until_interrupted
from relay_tune.codegen.linking.note import CHECKSUM_OFFSET, Note, note_size, read_note, write_note

SECONDS = 60.0

PROGRAMS = {
    "network": "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x * 2f - 1f) }",
    "open": "def @main(%x: Tensor[(n, 3), float32]) { nn.relu(%x * 2f - 1f) }",
    "program": """
def @double(%x: Tensor[(2, 3), float32], %n: int32) -> Tensor[(2, 3), float32] {
  if (%n == 0) { nn.relu(%x - 1f) } else { @double(%x * 2f, %n - 1) }
}
def @main(%x: Tensor[(2, 3), float32]) { @double(%x, 1) }
""",
}

ODD: tuple[object, ...] = (
    *(None, 0, -1, 2**70, 1e308, "", "x", "a\0b", "\ud800", [], {}, [[]], "[" * 3000),
    *([{"name": "x", "shape": [-1], "dtype": "float32"}], [{"name": "x", "shape": [2**62] * 9}]),
)


def flipped(data: bytearray, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Some bits are others, mostly in the headers."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) if chance.random() < 0.5 else 0x400)
        data[at] ^= 1 << chance.randrange(8)
    return bytes(data)


def moved(data: bytearray, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Bytes are missing, new or doubled."""
    at, count = chance.randrange(len(data)), chance.choice([1, 8, 64, 4096])
    match chance.randrange(4):
        case 0:
            del data[at:]
        case 1:
            del data[at : at + count]
        case 2:
            data[at:at] = chance.randbytes(count)
        case _:
            data += bytes(count)
    return bytes(data)


def joined(data: bytearray, others: Sequence[bytes], chance: random.Random) -> bytes:
    """The beginning of one library and the end of another."""
    at = chance.randrange(len(data))
    return bytes(data[:at]) + chance.choice(others)[at:]


def forged(data: bytearray, others: Sequence[bytes], chance: random.Random) -> bytes:
    """The description is odd, as long as before, and the checksum agrees."""
    start = data.index(b"relay_tune\0") - 12
    note = read_note(bytes(data[start:]))
    assert note is not None
    described = json.loads(note.description)
    for name in chance.sample(sorted(described), chance.randint(1, 2)):
        described[name] = chance.choice(ODD)
    text = json.dumps(described).encode()
    if chance.random() < 0.2:
        text = chance.choice([b"[" * len(note.description), b"\xff" * 9, b"{}", b"3"])
    text = text[: len(note.description)].ljust(len(note.description))
    end = start + note_size(note.description)
    data[start:end] = write_note(Note(note.file_bytes, 0, note.weights_offset, text))
    at = start + CHECKSUM_OFFSET
    data[at : at + 4] = zlib.crc32(data).to_bytes(4, "little")
    return bytes(data)


KINDS: dict[str, Callable[[bytearray, Sequence[bytes], random.Random], bytes]] = {
    "flipped": flipped,
    "moved": moved,
    "joined": joined,
    "forged": forged,
}


def exported(folder: Path) -> list[bytes]:
    """The libraries that are damaged."""
    found = []
    for name, text in PROGRAMS.items():
        rt.build(rt.parse(text), threads=1).export(folder / f"{name}.so")
        found.append((folder / f"{name}.so").read_bytes())
    return found


def main() -> int:
    """Run a campaign; the exit code is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=400, help="libraries (default: 400)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    options = parser.parse_args()
    multiprocessing.set_forkserver_preload(["benchmarks.fuzzing.library_outcome"])
    counts: Counter[str] = Counter()
    with until_interrupted(), tempfile.TemporaryDirectory() as folder:
        libraries = exported(Path(folder))
        for number in range(options.seed, options.seed + options.count):
            chance = random.Random(number)
            kind = chance.choice(list(KINDS))
            path = Path(folder) / f"{number}.so"
            path.write_bytes(KINDS[kind](bytearray(chance.choice(libraries)), libraries, chance))
            (found,) = run_apart(SECONDS, outcome, str(path), kind == "forged")
            path.unlink()
            known = found if found in ("refused", "right", "loaded") else "wrong"
            counts[known] += 1
            if known == "wrong":
                print(f"{number} ({kind}): {found}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())

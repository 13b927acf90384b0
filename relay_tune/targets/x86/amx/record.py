"""Products of bfloat16 and of bytes on matrix registers (TDPBF16PS, TDPBUSD and its like).

Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.machine.intrinsic import Intrinsic, Requirement, TileCosts
from relay_tune.machine.pattern import BFLOAT16_PAIRS, BYTE_MATRICES
from relay_tune.targets.x86.amx.emission import PERMISSION, emission_of
from relay_tune.targets.x86.amx.peak import peak_of

COSTS = TileCosts(
    latency=52 / 16,
    # 64 channels on 56x56: tiles of one register, 54 instructions each, are as quick as of four.
    seen_ahead=120,
    # The operands of networks change more bits than those of the measured loop, for which
    # processors slow their clock, and come from farther away.
    operands=1.5,
    # 7x7 taps on 3 channels: rows 12 bytes apart 1190 us, rows of whole lines 811.
    torn_rows=1.5,
    # float32 (three products), 392 rows, 512 steps, 2,048 columns: tiles of 5x1 registers 2141 us,
    # of 2x2 1827. With 5 a network of narrow 1x1 and 3x3 layers takes 1.04 to 1.07 of its time.
    left_load=2.0,
    # Registers are stored and read again.
    tile_cycles=60.0,
    code=8,
    # 512 channels on 7x7: 0.9 MB of data beside panels of 0.6 MB are read from the second cache.
    filled=2,
    unfetched=0.3,
)

BYTE_COSTS = replace(
    COSTS,
    # 256 to 1024 channels, 1x1 on 14x14: tiles of 5x1 registers 68 us, of 2x2 49.
    left_load=5.0,
)

AMX_BF16 = Intrinsic(
    key="tiles",
    pattern=BFLOAT16_PAIRS,
    exactness="sums in float32; operands and results below 2^-126 are zero",
    requirement=Requirement(
        features=("amx-tile", "amx-bf16"),
        cpus=("sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids"),
        system="linux",
        vector_bits=512,
        permission=PERMISSION,
    ),
    cycles=20.0,
    costs=COSTS,
    emission=emission_of("tdpbf16ps"),
    peak=peak_of("tdpbf16ps"),
    mnemonic="tdpbf16ps",
)


def _of_bytes(left: str, right: str) -> Intrinsic:
    """The instruction whose operands are such bytes; its name tells their signs."""
    letters = "".join("u" if dtype == "uint8" else "s" for dtype in (left, right))
    instruction = f"tdpb{letters}d"
    return replace(
        AMX_BF16,
        key=f"tiles_{letters}",
        pattern=BYTE_MATRICES[left, right],
        exactness="exact; sums wrap as those of int32 do",
        costs=BYTE_COSTS,
        requirement=replace(AMX_BF16.requirement, features=("amx-tile", "amx-int8")),
        emission=emission_of(instruction),
        peak=peak_of(instruction),
        mnemonic=instruction,
    )


AMX_INT8 = tuple(_of_bytes(left, right) for left, right in BYTE_MATRICES)
"""Products of bytes of all signs."""

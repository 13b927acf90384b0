"""Fields of instructions, compared with what the processors' manuals say of them."""

import pytest

from relay_tune.errors import BuildError
from relay_tune.machine.linking import Linking
from relay_tune.targets.aarch64.linking import LINKING as AARCH64
from relay_tune.targets.x86.linking import LINKING as X86_64


def patched(processor: Linking, field: bytes, kind: int, value: int, address: int) -> bytes:
    data = bytearray(field)
    processor.patch(data, 0, kind, value, address)
    return bytes(data)


@pytest.mark.parametrize(
    ("before", "kind", "value", "address", "after"),
    [
        (0x94000000, 283, 0x2000, 0x1000, 0x94000400),  # bl, forward
        (0x94000000, 283, 0x1000, 0x2000, 0x97FFFC00),  # bl, backward
        (0x14000000, 282, 0x1004, 0x1000, 0x14000001),  # b
        (0x90000000, 275, 0x12345678, 0x1000, 0x90091A20),  # adrp x0
        (0x91000000, 277, 0x12345678, 0, 0x9119E000),  # add x0, x0, #0x678
        (0xF9400000, 286, 0x12345678, 0, 0xF9433C00),  # ldr x0, [x0, #0x678]
        (0xB9400000, 285, 0x12345674, 0, 0xB9467400),  # ldr w0, [x0, #0x674]
        (0x3DC00000, 299, 0x12345670, 0, 0x3DC19C00),  # ldr q0, [x0, #0x670]
        (0x39400000, 278, 0x12345679, 0, 0x3959E400),  # ldrb w0, [x0, #0x679]
        (0x54000000, 280, 0x0FF8, 0x1000, 0x54FFFFC0),  # b.eq, backward
        (0x10000000, 274, 0x1003, 0x1000, 0x70000000),  # adr x0, 3 bytes on
    ],
)
def test_instructions_of_aarch64(
    before: int, kind: int, value: int, address: int, after: int
) -> None:
    found = patched(AARCH64, before.to_bytes(4, "little"), kind, value, address)
    assert hex(int.from_bytes(found, "little")) == hex(after)


def test_fields_of_x86_64() -> None:
    assert patched(X86_64, bytes(4), 2, 0x1000, 0x1010) == (-16).to_bytes(4, "little", signed=True)
    assert patched(X86_64, bytes(8), 24, 1 << 40, 0) == (1 << 40).to_bytes(8, "little")


@pytest.mark.parametrize(("processor", "kind"), [(X86_64, 2), (AARCH64, 283), (AARCH64, 275)])
def test_what_is_too_far_away(processor: Linking, kind: int) -> None:
    with pytest.raises(BuildError, match="too large"):
        patched(processor, bytes(4), kind, 1 << 40, 0)


def test_stubs_jump_to_what_their_slots_hold() -> None:
    assert X86_64.stub(0x1000, 0x3000)[:6] == bytes.fromhex("ff25fa1f0000")
    words = [AARCH64.stub(0x1000, 0x3018)[at : at + 4][::-1].hex() for at in (0, 4, 8)]
    assert words == ["d0000010", "f9400e11", "d61f0220"]

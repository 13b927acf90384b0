from __future__ import annotations

import os

import pytest

from relay_tune.codegen import target_check
from relay_tune.codegen.target import native_target, parse_target, permitted_features
from relay_tune.errors import InputError
from relay_tune.machine.permission import Permission


@pytest.mark.parametrize(
    ("text", "bits", "registers"),
    [
        ("x86_64-linux-gnu", 128, 16),
        ("x86_64-linux-gnu:x86-64", 128, 16),
        ("x86_64-linux-gnu:x86-64-v3", 256, 16),
        ("x86_64-linux-gnu:haswell", 256, 16),
        ("x86_64-linux-gnu:znver3", 256, 16),
        ("x86_64-linux-gnu:skylake-avx512", 512, 32),
        ("x86_64-linux-gnu:x86-64-v4", 512, 32),
        ("x86_64-linux-gnu:znver4", 512, 32),
        ("x86_64-linux-gnu:emeraldrapids", 512, 32),
        ("x86_64-linux-gnu:graniterapids-d", 512, 32),
        ("x86_64-linux-gnu:x86-64:+avx2", 256, 16),
        ("aarch64-linux-gnu", 128, 32),
        ("aarch64-linux-gnu:cortex-a72", 128, 32),
    ],
)
def test_vectors_of_named_targets(text, bits, registers):
    target = parse_target(text)
    assert (target.vector_bits, target.vector_registers) == (bits, registers)


@pytest.mark.parametrize("cpu", ["prescott", "i686", "athlon-xp"])
def test_processors_of_32_bits(cpu: str) -> None:
    with pytest.raises(InputError, match="a processor of 32 bits"):
        parse_target(f"x86_64-linux-gnu:{cpu}")


def test_parts_of_a_target():
    target = parse_target("x86_64-linux-gnu:haswell:+avx2,-bmi")
    assert (target.triple, target.cpu, target.features) == (
        "x86_64-linux-gnu",
        "haswell",
        "+avx2,-bmi",
    )


def test_native_is_this_machine():
    target = parse_target("native")
    assert target == native_target()
    assert target.vector_bits in (128, 256, 512)
    assert target.cpu and target.features


@pytest.mark.parametrize("text", ["", "toaster", "toaster-linux-gnu:haswell", ":haswell"])
def test_unknown_machines_are_refused(text):
    with pytest.raises(InputError, match="not known") as caught:
        parse_target(text)
    assert caught.value.remedy and "x86_64-linux-gnu:haswell" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "scales"),
    [
        ("x86_64-linux-gnu:skylake-avx512", True),
        ("x86_64-linux-gnu:znver5", True),
        ("x86_64-linux-gnu:skylake-avx512:-avx512dq", False),
        ("x86_64-linux-gnu:x86-64:+avx512f,+avx512vl", False),
        ("x86_64-linux-gnu:x86-64:+avx512f,+avx512vl,+avx512dq", True),
        ("x86_64-linux-gnu:haswell", False),
        ("aarch64-linux-gnu:cortex-a72", False),
    ],
)
def test_machines_that_scale_by_powers_of_two(name, scales):
    assert parse_target(name).scales_powers == scales


FLOAT_TILES = ("tiles",)
BYTE_TILES = ("tiles_us", "tiles_ss", "tiles_uu", "tiles_su")


@pytest.mark.parametrize(
    ("name", "tiles"),
    [
        ("x86_64-linux-gnu:sapphirerapids", (*FLOAT_TILES, *BYTE_TILES)),
        ("x86_64-linux-gnu:graniterapids-d", (*FLOAT_TILES, *BYTE_TILES)),
        ("x86_64-linux-gnu:x86-64-v4:+amx-tile,+amx-bf16", FLOAT_TILES),
        ("x86_64-linux-gnu:x86-64-v4:+amx-tile,+amx-int8", BYTE_TILES),
        ("x86_64-linux-gnu:sapphirerapids:-amx-bf16", BYTE_TILES),
        ("x86_64-linux-gnu:sapphirerapids:-amx-int8", FLOAT_TILES),
        ("x86_64-linux-gnu:sapphirerapids:-amx-tile", ()),
        ("x86_64-linux-gnu:sapphirerapids:-avx512f", ()),
        ("x86_64-apple-darwin:sapphirerapids", ()),
        ("x86_64-linux-gnu:icelake-server", ()),
        ("x86_64-linux-gnu:znver5", ()),
        ("aarch64-linux-gnu:cortex-a72", ()),
    ],
)
def test_machines_that_multiply_matrices_in_registers(name: str, tiles: tuple[str, ...]) -> None:
    target = parse_target(name)
    assert tuple(each.key for each in target.intrinsics) == tiles
    key = ":".join((f"v{target.vector_bits}", *tiles))
    assert target.key.endswith(f":{key}")


@pytest.mark.parametrize("permitted", [True, False])
def test_features_that_need_permission(monkeypatch: pytest.MonkeyPatch, permitted: bool) -> None:
    monkeypatch.setattr(Permission, "ask", lambda _: permitted)
    features = {"amx-bf16": True, "amx-fp16": False, "amx-tile": True, "avx2": True, "sse4a": False}
    expected = {**features, "amx-bf16": permitted, "amx-tile": permitted}
    assert permitted_features(features) == expected


def test_permission_is_asked_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(_: Permission) -> bool:
        raise AssertionError

    monkeypatch.setattr(Permission, "ask", asked)
    for features in ({"amx-tile": False, "avx2": True}, {"neon": True}, {}):
        assert permitted_features(features) == features


@pytest.mark.parametrize("unknown", ["nonsense", "haswell:+nonsense", "cortex-a72"])
def test_processors_and_features_that_llvm_would_ignore(
    unknown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="LLVM has no "):
        parse_target(f"x86_64-linux-gnu:{unknown}")
    assert capfd.readouterr().err == ""


def test_what_others_write_while_llvm_is_asked_is_kept(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class LoudTarget:
        def create_target_machine(self, cpu: str, features: str) -> None:
            os.write(2, b"of another thread\n'x' is not a recognized processor\n")

    monkeypatch.setattr(target_check.llvm.Target, "from_triple", lambda triple: LoudTarget())
    assert target_check.unknown_parts("loud", "x", "") == ("'x'",)
    assert capfd.readouterr().err == "of another thread\n"


@pytest.mark.parametrize(
    ("name", "is_fast"),
    [("cooperlake", True), ("znver4", True), ("sapphirerapids", False), ("emeraldrapids", False)],
)
def test_machines_whose_products_of_bfloat16_are_slow_do_without(name: str, is_fast: bool) -> None:
    target = parse_target(f"x86_64-linux-gnu:{name}")
    assert "dot_b16b16" in {each.pattern.name for each in target.dot_products if each.pattern}
    assert ("dot_b16b16" in target.machine.dot_products) is is_fast

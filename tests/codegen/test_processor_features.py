import ctypes

import llvmlite.binding as llvm
import pytest

from relay_tune.codegen import processor_features
from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.processor_features import (
    _BITS,
    architecture,
    required_features,
    support_text,
)
from relay_tune.codegen.target import native_target, parse_target, permitted_features

TARGET = native_target()
USES_TILES = ["declare void @llvm.x86.ldtilecfg(ptr)"]


def supported(*features: str) -> bool:
    """What the generated function says on this machine."""
    llvm.initialize_native_asmparser()
    text = support_text("supported", TARGET.triple, features)
    text += "define i1 @asked() {\n  %yes = call i1 @supported()\n  ret i1 %yes\n}\n"
    code = LoadedCode(
        [compile_text(f'target triple = "{TARGET.triple}"\n{text}', TARGET)], ["asked"]
    )
    return bool(ctypes.CFUNCTYPE(ctypes.c_bool)(code.address("asked"))())


@pytest.mark.skipif(architecture(TARGET.triple) != "x86_64", reason="CPUID is of x86")
@pytest.mark.parametrize("feature", sorted(_BITS))
def test_the_native_check_agrees_with_llvm(feature: str) -> None:
    here = permitted_features(llvm.get_host_cpu_features())
    assert supported(feature) == here.get(feature, False)


def test_native_code_is_supported_here() -> None:
    assert supported(*required_features(TARGET, USES_TILES if TARGET.has_matrix_tiles else ()))


def test_nothing_is_asked_of_unknown_processors() -> None:
    assert "ret i1 true" in support_text("f", "riscv64-linux-gnu", ["avx2"])


def test_a_named_processor_asks_for_its_level() -> None:
    features = required_features(parse_target("x86_64-linux-gnu:haswell"), ())
    assert "avx2" in features and "fma" in features and "avx512f" not in features
    assert "avx512vl" in required_features(parse_target("x86_64-linux-gnu:x86-64-v4"), ())


@pytest.mark.parametrize("cpu", ["sapphirerapids", "x86-64-v4:+amx-tile,+amx-bf16,+amx-int8"])
def test_matrix_registers_are_required_only_where_they_are_used(cpu: str) -> None:
    target = parse_target(f"x86_64-linux-gnu:{cpu}")
    without = required_features(target, ["define void @kernel()"])
    assert not [name for name in without if name.startswith("amx")]
    assert set(required_features(target, USES_TILES)) == {*without, "amx-tile", "amx-bf16"}


@pytest.mark.skipif(not TARGET.has_matrix_tiles, reason="needs matrix registers")
def test_a_system_that_does_not_give_matrix_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert supported("amx-tile")
    monkeypatch.setattr(processor_features, "TILE_DATA", 63)  # no such part of the state
    assert not supported("amx-tile")
    assert supported("avx512f")


def test_only_linux_is_asked_for_matrix_registers() -> None:
    features = ["amx-tile", "avx512f"]
    assert "syscall" not in support_text("f", "x86_64-apple-darwin", features)
    assert "syscall" not in support_text("f", "x86_64-linux-gnu", ["avx512f"])

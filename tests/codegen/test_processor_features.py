import ctypes

import llvmlite.binding as llvm
import pytest

from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.processor_features import (
    _BITS,
    architecture,
    required_features,
    support_text,
)
from relay_tune.codegen.target import native_target, parse_target

TARGET = native_target()


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
    assert supported(feature) == bool(llvm.get_host_cpu_features().get(feature, False))


def test_native_code_is_supported_here() -> None:
    assert supported(*required_features(TARGET))


def test_nothing_is_asked_of_unknown_processors() -> None:
    assert "ret i1 true" in support_text("f", "riscv64-linux-gnu", ["avx2"])


def test_a_named_processor_asks_for_its_level() -> None:
    features = required_features(parse_target("x86_64-linux-gnu:haswell"))
    assert "avx2" in features and "fma" in features and "avx512f" not in features
    assert "avx512vl" in required_features(parse_target("x86_64-linux-gnu:x86-64-v4"))

import ctypes
import tempfile
from dataclasses import replace

import llvmlite.binding as llvm
import pytest

from relay_tune.codegen.export import linking_of, plain_object
from relay_tune.codegen.linking.shared_object import LibraryNames, Weights, write_shared_object
from relay_tune.codegen.processor_features import (
    required_features,
    support_text,
)
from relay_tune.codegen.target import native_target, parse_target, permitted_features
from relay_tune.machine.intrinsic import used_in
from relay_tune.targets import registry
from relay_tune.targets.aarch64.features import HARDWARE_BITS
from relay_tune.targets.registry import architecture_name
from relay_tune.targets.x86.amx.emission import PERMISSION
from relay_tune.targets.x86.features import BITS
from relay_tune.targets.x86.intrinsics import INTRINSICS
from relay_tune.targets.x86.record import X86_64

TARGET = native_target()
USES_TILES = ["declare void @llvm.x86.tdpbf16ps(i8 immarg, i8 immarg, i8 immarg)"]


def supported(*features: str) -> bool:
    """What the generated function says on this machine, in a library as it is exported."""
    text = support_text("supported", TARGET.triple, features)
    text += "define i1 @asked() {\n  %yes = call i1 @supported()\n  ret i1 %yes\n}\n"
    image = plain_object(f'target triple = "{TARGET.triple}"\n{text}', TARGET)
    with tempfile.NamedTemporaryFile() as file:
        write_shared_object(
            file,
            [image],
            Weights("weights", 0, lambda: ()),
            LibraryNames("check.so", ("asked",), b"{}"),
            linking_of(TARGET.triple),
        )
        file.flush()
        ask = ctypes.CDLL(file.name)["asked"]
    ask.restype = ctypes.c_bool
    return bool(ask())


@pytest.mark.skipif(architecture_name(TARGET.triple) != "x86_64", reason="CPUID is of x86")
@pytest.mark.parametrize("feature", sorted(BITS))
def test_the_native_check_agrees_with_llvm(feature: str) -> None:
    here = permitted_features(llvm.get_host_cpu_features())
    assert supported(feature) == here.get(feature, False)


def test_native_code_is_supported_here() -> None:
    assert supported(*required_features(TARGET, used_in(TARGET.intrinsics, USES_TILES)))


def test_nothing_is_asked_of_unknown_processors() -> None:
    assert "ret i1 true" in support_text("f", "riscv64-linux-gnu", ["avx2"])


@pytest.mark.parametrize(
    ("target", "has", "lacks"),
    [
        ("x86_64-linux-gnu", set(), {"ssse3", "sse4.1", "avx"}),
        ("x86_64-linux-gnu:nehalem", {"ssse3", "sse4.2", "popcnt"}, {"avx"}),
        ("x86_64-linux-gnu:sandybridge", {"avx"}, {"f16c", "avx2", "fma"}),
        ("x86_64-linux-gnu:haswell", {"ssse3", "avx2", "fma", "bmi2"}, {"avx512f", "sse4a"}),
        ("x86_64-linux-gnu:haswell:-avx2", {"avx", "fma"}, {"avx2"}),
        ("x86_64-linux-gnu::+avx2", {"avx2", "avx", "sse4.2"}, {"fma"}),
        ("x86_64-linux-gnu:x86-64-v4", {"avx512vl"}, {"avx512vnni"}),
        ("x86_64-linux-gnu:bdver2", {"xop", "fma4", "f16c"}, {"avx2"}),
        ("x86_64-linux-gnu:znver5", {"avx512bf16", "avxvnni"}, {"avx512fp16"}),
        ("aarch64-linux-gnu:cortex-a57", set(), {"lse", "dotprod"}),
        ("aarch64-linux-gnu:neoverse-n1", {"lse", "dotprod", "fullfp16"}, {"i8mm", "sve"}),
        ("aarch64-linux-gnu:neoverse-v1", {"i8mm", "bf16", "sve"}, {"sve2"}),
    ],
)
def test_what_a_named_processor_asks_for(target: str, has: set[str], lacks: set[str]) -> None:
    found = set(required_features(parse_target(target), ()))
    assert has <= found
    assert not lacks & found


def test_every_feature_of_aarch64_is_looked_for() -> None:
    for feature, (word, bit) in HARDWARE_BITS.items():
        text = support_text("f", "aarch64-linux-gnu", [feature])
        assert f"and i64 %word{word}, {1 << bit}\n" in text
        assert f"and i64 %word{1 - word}, 0\n" in text
    assert "asm" not in text


def test_code_without_vectors_does_not_ask_what_the_system_saves() -> None:
    text = support_text("f", "x86_64-linux-gnu", ["ssse3", "popcnt", "lzcnt"])
    assert "call i32 @relay_tune_saved_state" not in text
    assert "call i32 @relay_tune_saved_state" in support_text("f", "x86_64-linux-gnu", ["f16c"])


@pytest.mark.parametrize("cpu", ["sapphirerapids", "x86-64-v4:+amx-tile,+amx-bf16,+amx-int8"])
def test_matrix_registers_are_required_only_where_they_are_used(cpu: str) -> None:
    target = parse_target(f"x86_64-linux-gnu:{cpu}")
    without = required_features(target, used_in(target.intrinsics, ["define void @kernel()"]))
    assert not [name for name in without if name.startswith("amx")]
    used = used_in(target.intrinsics, USES_TILES)
    assert set(required_features(target, used)) == {*without, "amx-tile", "amx-bf16"}


@pytest.mark.skipif(not TARGET.intrinsics, reason="needs matrix registers")
def test_a_system_that_does_not_give_matrix_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert supported("amx-tile")
    intrinsic, *_ = INTRINSICS
    permission = replace(PERMISSION, arguments=(*PERMISSION.arguments[:1], 63))  # no such part
    unknown = replace(intrinsic.requirement, permission=permission)
    changed = replace(X86_64, intrinsics=(replace(intrinsic, requirement=unknown),))
    monkeypatch.setitem(registry._EXTENDED, "x86_64", changed)
    assert not supported("amx-tile")
    assert supported("avx512f")


def test_only_linux_is_asked_for_matrix_registers() -> None:
    wanted = ["amx-tile", "avx512f"]
    assert "call i64 (i64, ...) @syscall" not in support_text("f", "x86_64-apple-darwin", wanted)
    assert "call i64 (i64, ...) @syscall" not in support_text("f", "x86_64-linux-gnu", ["avx512f"])

import pytest

from relay_tune.building.build import build
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.programs.stack_switch import add_stack
from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.parser.parse import parse

NETWORK = "def @main(%x: Tensor[(n, 4), float32]) { nn.softmax(%x) }"
RECURSION = """
def @sum(%n: int32) -> int32 { if (%n < 1) { 0 } else { %n + @sum(%n - 1) } }
def @main(%n: int32) { @sum(%n) }
"""


@pytest.mark.parametrize("target", ["riscv64-linux-gnu", "aarch64-linux-gnu:neoverse-n1"])
def test_programs_without_calls_are_compiled_for_every_processor(target: str) -> None:
    build(parse(NETWORK), target=target, threads=1)


def test_programs_with_calls_need_a_stack_of_their_own() -> None:
    with pytest.raises(NoNativeCodeError, match="compiled for aarch64 and x86_64"):
        build(parse(RECURSION), target="riscv64-linux-gnu", threads=1)


def test_networks_map_no_stack() -> None:
    module = NativeModule()
    add_stack(module, "x86_64-linux-gnu", has_calls=False)
    assert "mmap" not in module.text("x86_64-linux-gnu")

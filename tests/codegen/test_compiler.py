import ctypes
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from relay_tune.codegen.compiler import compile_calls, compile_inlined, compile_text
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import native_target, parse_target
from relay_tune.errors import BuildError
from relay_tune.tensor.expression import Axis, unary
from relay_tune.tensor.loops import Kernel, LoopKind, Statement, Store
from tests.codegen.running import argument, loop

ADD_ONE = """\
define void @{name}(ptr %p) {{
  %v = load i64, ptr %p
  %w = add i64 %v, {amount}
  store i64 %w, ptr %p
  ret void
}}
"""


def exponentials() -> Kernel:
    x, y, lane, i = argument("x", 64), argument("y", 64), Axis("lane", 8), Axis("i", 8)
    at = i * 8 + lane
    body: Statement = loop(lane, Store(y, (at,), unary("exp", x[at])), kind=LoopKind.VECTOR)
    return Kernel("kernel", (x, y), (x, y), loop(i, body))


@pytest.mark.parametrize(
    "text",
    [
        "this is no module",
        "define void @f() { ret i32 0 }",
        "define void @f() { br label %nowhere }",
        "define void @f(ptr %p) { %v = load i64, ptr %q ret void }",
    ],
)
def test_rejected_text_is_a_build_error(text):
    with pytest.raises(BuildError, match="defect of the compiler") as caught:
        compile_text(text, native_target())
    assert caught.value.notes[0]


def test_the_same_kernel_twice_is_the_same_text():
    target = parse_target("x86_64-linux-gnu:haswell")
    first, second = (module_text([exponentials()], target) for _ in range(2))
    assert first == second
    assert compile_text(first, target) == compile_text(second, target)


CALLS = """\
define internal i64 @part(i64 %x) {
  %y = mul i64 %x, 3
  ret i64 %y
}
define i64 @whole(i64 %x) {
  %y = call i64 @part(i64 %x)
  %z = add i64 %y, %x
  ret i64 %z
}
"""


def test_calls_are_compiled_at_level_0_where_that_is_known_to_be_quick() -> None:
    quick, other = (parse_target(f"{name}-linux-gnu") for name in ("x86_64", "aarch64"))
    assert compile_calls(CALLS, quick) != compile_text(CALLS, quick)
    assert compile_calls(CALLS, other) == compile_text(CALLS, other)
    code = LoadedCode([compile_inlined(CALLS, native_target(), ())], ["whole"])
    whole = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("whole"))
    assert whole(5) == 20


def test_declarations_appear_once_for_all_kernels():
    text = module_text([exponentials(), exponentials()], native_target())
    declarations = [line for line in text.splitlines() if line.startswith("declare")]
    assert declarations and len(declarations) == len(set(declarations))


def test_objects_are_for_the_target():
    machines = {"x86_64-linux-gnu": 62, "aarch64-linux-gnu": 183}
    for triple, number in machines.items():
        target = parse_target(triple)
        image = compile_text(module_text([exponentials()], target), target)
        assert image[:4] == b"\x7fELF"
        assert int.from_bytes(image[18:20], "little") == number


def test_several_objects_are_loaded_together_and_libraries_do_not_mix():
    target = native_target()
    objects = [
        compile_text(ADD_ONE.format(name=name, amount=amount), target)
        for name, amount in (("one", 1), ("ten", 10))
    ]
    both = LoadedCode(objects, ["one", "ten"])
    other = LoadedCode([compile_text(ADD_ONE.format(name="one", amount=100), target)], ["one"])
    value = np.zeros(1, np.int64)
    for code, symbol in ((both, "one"), (both, "ten"), (other, "one"), (both, "one")):
        code.function(symbol, ctypes.c_void_p)(value.ctypes.data)
    assert value[0] == 112


@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="addresses are reserved as Linux does it, and counted for code of x86-64",
)
def test_code_is_linked_beside_its_constants_where_addresses_are_rare():
    command = [sys.executable, "-m", "tests.codegen.crowded_memory"]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stdout) == (0, "1.5 2.5 3.5 4.5\n"), run.stderr

"""Programs as libraries: called from Python without a compiler, and from C."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import InputError, RelayError
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.data_values import data_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.load import load
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.model import Model
from tests.properties.programs.compare import assert_same_value

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

TEXT = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @scaled(%l: List[(int16, Tensor[(2), float32])], %s: float32)
    -> List[(int16, Tensor[(2), float32])] {
  match (%l) {
    Cons(%h, %t) => { Cons((%h.0 + 1i16, %h.1 * %s), @scaled(%t, %s)) },
    Nil => { Nil },
  }
}
def @main(%l: List[(int16, Tensor[(2), float32])], %s: float32) {
  let %first = match? (%l) { Cons(%h, _) => { %h.0 }, };
  (@scaled(%l, %s), %first)
}
"""

C_PROGRAM = r"""
#include <stdio.h>
#include "names.h"

int main(void) {
    names_session* s = names_open(1);
    const float numbers[] = {1, 2, 3, 4};
    names_value* list = names_Nil_List_int16_Tensor_2_float32(s);
    for (int i = 0; i < 2; i++)
        list = names_Cons_List_int16_Tensor_2_float32(
            s, (int16_t)(10 * i), names_tensor(s, numbers + 2 * i, 8), list);
    float scale = 2;
    int16_t first;
    names_value* result;
    const void* inputs[] = {list, &scale};
    void* outputs[] = {&result, &first};
    if (names_main(s, inputs, outputs) != 0) return 1;
    printf("%d:", first);
    for (names_value* v = result; names_tag(v) == NAMES_CONS_LIST_INT16_TENSOR_2_FLOAT32;
         v = names_Cons_List_int16_Tensor_2_float32_2(v)) {
        const float* x = names_elements(names_Cons_List_int16_Tensor_2_float32_1(v));
        printf(" %d (%g %g)", names_Cons_List_int16_Tensor_2_float32_0(v), x[0], x[1]);
    }
    names_release(s, names_retain(result));
    names_release(s, result);
    inputs[0] = names_Nil_List_int16_Tensor_2_float32(s);
    printf("; %s\n", names_message(names_main(s, inputs, outputs)));
    names_close(s);
    return 0;
}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return parse(TEXT)


@pytest.fixture(scope="module")
def library(module: Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "names.so"
    model = build(module, threads=1)
    assert isinstance(model, Model)
    model.export(path)
    return path


def test_a_loaded_program_is_called_like_a_built_one(module: Module, library: Path) -> None:
    loaded = load(library)
    assert isinstance(loaded, LoadedProgram)
    value = data_value(module, "Nil")
    for number in range(4):
        pair = (np.int16(number), np.full(2, number, "float32"))
        value = data_value(module, "Cons", pair, value)
    assert_same_value(loaded(value, s=3.0), interpret(module, value, 3.0))
    with pytest.raises(RelayError, match="No clause of the match"):
        loaded(data_value(module, "Nil"), 1.0)
    assert_same_value(loaded(value, 2.0), interpret(module, value, 2.0))


@needs_compiler
def test_a_program_in_c(library: Path) -> None:
    source = library.with_name("program.c")
    source.write_text(C_PROGRAM)
    binary = library.with_name("program")
    flags = ["-Wall", "-Werror", "-std=c99"]
    finds = f"-Wl,-rpath,{library.parent}"
    subprocess.run(["cc", *flags, source, library, finds, "-o", binary], check=True)
    result = subprocess.run([binary], capture_output=True, text=True, check=True)
    expected = "10: 11 (6 8) 1 (2 4); No clause of the match at from_string:11:16 fits the value.\n"
    assert result.stdout == expected


EVERYTHING = """
type List[A] { Cons(A, List[A]), Nil, }
def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) -> fn (A) -> C {
  fn (%x: A) -> C { %f(%g(%x)) }
}
def @sum(%n: int32, %all: int32) -> int32 {
  if (%n < 1) { %all } else { @sum(%n - 1, %all + %n) }
}
def @main(%n: int32, %x: Tensor[(m, 2), float32], %l: List[int32]) {
  let %first = match (%l) { Cons(%h, _) => %h, Nil => -1 };
  let %again = @compose(fn (%k: int32) { %k * 3 }, fn (%k: int32) { %k + %n });
  let %weights = meta[relay.Constant][0];
  ((@sum(%n, 0), (%first, %again(%first))), Cons(%again(%n), %l), nn.dense(%x, %weights),
   shape_of(%x), %x + %weights)
}
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [1, 2], "data": "AACAPwAAAEA="}]}
"""


def test_every_kind_of_program_is_loaded_as_it_was_built(tmp_path: Path) -> None:
    module = parse(EVERYTHING)
    build(module, threads=1).export(tmp_path / "all.so")
    loaded = load(tmp_path / "all.so")
    numbers = data_value(module, "Cons", 7, data_value(module, "Nil"))
    for rows in (1, 4):
        inputs = np.int32(10), np.ones((rows, 2), "float32"), numbers
        assert_same_value(loaded(*inputs), interpret(module, *inputs))


OPEN_TEXT = """
type List[A] { Cons(A, List[A]), Nil, }
def @joined(%l: List[Tensor[(?, 2), float32]], %a: Tensor[(?, 2), float32])
    -> Tensor[(?, 2), float32] {
  match (%l) {
    Cons(%h, %t) => { @joined(%t, concatenate((%a, %h), axis=0)) },
    Nil => { %a },
  }
}
def @main(%x: Tensor[(n, 2), float32], %l: List[Tensor[(?, 2), float32]]) {
  (@joined(%l, nn.relu(%x)), sum(%x, axis=[0]))
}
"""

OPEN_C_PROGRAM = r"""
#include <stdio.h>
#include "joined.h"

int main(void) {
    joined_session* s = joined_open(1);
    const float numbers[] = {1, 2, 3, -4, 5, 6};
    const int64_t sizes[] = {3, 2}, row[] = {1, 2};
    joined_value* list = joined_Cons_List_Tensor_2_float32(
        s, joined_sized_tensor(s, numbers, 8, 2, row), joined_Nil_List_Tensor_2_float32(s));
    joined_value* result;
    float total[2];
    const void* inputs[] = {numbers, sizes, list};
    void* outputs[] = {&result, total};
    if (joined_main(s, inputs, outputs) != 0) return 1;
    const int64_t* shape = joined_sizes(result);
    const float* x = joined_elements(result);
    printf("%d x %d:", (int)shape[0], (int)shape[1]);
    for (int i = 0; i < shape[0] * shape[1]; i++) printf(" %g", x[i]);
    printf("; %g %g\n", total[0], total[1]);
    joined_release(s, result);
    joined_close(s);
    return 0;
}
"""


@needs_compiler
def test_a_library_for_all_sizes(tmp_path: Path) -> None:
    module = parse(OPEN_TEXT)
    path = tmp_path / "joined.so"
    model = build(module, threads=1)
    model.export(path)
    rows = data_value(module, "Nil")
    for count in (3, 1):
        rows = data_value(module, "Cons", np.ones((count, 2), "float32"), rows)
    program = load(path)
    assert isinstance(program, LoadedProgram)
    for n in (1, 5):
        x = np.arange(2 * n, dtype="float32").reshape(n, 2)
        assert_same_value(program(x, rows), interpret(module, x, rows))
    source = tmp_path / "main.c"
    source.write_text(OPEN_C_PROGRAM)
    binary = tmp_path / "main"
    subprocess.run(
        ["cc", source, "-I", tmp_path, path, f"-Wl,-rpath,{tmp_path}", "-o", binary],
        check=True,
        capture_output=True,
    )
    found = subprocess.run([str(binary)], check=True, capture_output=True, text=True)
    assert found.stdout == "4 x 2: 1 2 3 0 5 6 1 2; 9 4\n"


OPEN_NETWORK = """
def @main(%x: Tensor[(n, 16), float32], %y: Tensor[(m, 16), float32], %b: Tensor[(n), float32]) {
  let %scores = nn.batch_matmul(expand_dims(%x, axis=0), expand_dims(%y, axis=0));
  (nn.softmax(squeeze(%scores, axis=[0])), concatenate((%x, %y), axis=0), sum(%b), %b * 2f)
}
"""


def test_a_library_of_a_network_with_open_sizes(tmp_path: Path) -> None:
    module = parse(OPEN_NETWORK)
    build(module, threads=2).export(tmp_path / "net.so")
    network = load(tmp_path / "net.so")
    generator = np.random.default_rng(0)

    def numbers(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape).astype("float32")

    for n, m in ((1, 1), (3, 5), (70, 9)):
        inputs = numbers(n, 16), numbers(m, 16), numbers(n)
        assert_same_value(network(*inputs), interpret(module, *inputs))
    with pytest.raises(InputError, match="'b'"):
        network(numbers(3, 16), numbers(2, 16), numbers(4))


@pytest.mark.parametrize(
    ("result", "attributes", "names"),
    [
        ("(%x, %x + %x)", "", ["output0", "output1"]),
        ("(%x, %x + %x)", '#[attributes(outputs=["mask", "sum"])]\n', ["mask", "sum"]),
        ("%x + %x", "", ["output"]),
    ],
)
def test_outputs_have_the_names_of_the_network(
    result: str, attributes: str, names: list[str], tmp_path: Path
) -> None:
    text = f"{attributes}def @main(%x: Tensor[(n, 2), float32]) {{ {result} }}"
    model = build(parse(f'#[version = "0.0.5"]\n{text}'), threads=1)
    model.export(tmp_path / "net.so")
    loaded = load(tmp_path / "net.so")
    assert isinstance(loaded, LoadedProgram)
    assert list(loaded.outputs) == list(model.outputs) == names
    assert loaded.outputs == model.outputs


def test_outputs_of_a_program_have_names(module: Module, tmp_path: Path) -> None:
    model = build(module, threads=1)
    model.export(tmp_path / "names.so")
    loaded = load(tmp_path / "names.so")
    assert list(loaded.outputs) == ["output0", "output1"]
    assert loaded.outputs == model.outputs

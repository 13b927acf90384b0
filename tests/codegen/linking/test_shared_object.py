"""Shared objects that are made of LLVM's objects, and what the system's loader makes of them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from relay_tune.codegen.export import linking_of, plain_object
from relay_tune.codegen.linking.shared_object import (
    LibraryNames,
    Weights,
    undefined_symbols,
    write_shared_object,
)
from relay_tune.codegen.target import native_target, parse_target
from relay_tune.errors import BuildError

NATIVE = native_target()
LINKING = linking_of(NATIVE.triple)

CALLER = """
@weights = external constant i8
@counter = internal global i64 0, align 64
@start = internal global i64 40, align 8
@names = internal constant [2 x ptr] [ptr @first, ptr @second], align 8
@first = internal constant [4 x i8] c"one\\00"
@second = internal constant [4 x i8] c"two\\00"
@system = internal constant [1 x ptr] [ptr @getpid], align 8
declare i64 @other(i64)
declare i32 @getpid()
declare double @pow(double, double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define i64 @my_count() {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %begin = load i64, ptr @start
  %sum = add i64 %new, %begin
  %result = call i64 @other(i64 %sum)
  ret i64 %result
}
define ptr @my_name(i64 %n) {
  %at = getelementptr ptr, ptr @names, i64 %n
  %name = load ptr, ptr %at
  ret ptr %name
}
define i32 @my_process() {
  %function = load volatile ptr, ptr @system
  %result = call i32 %function()
  ret i32 %result
}
define double @my_power(double %x) {
  %y = call double @pow(double %x, double 2.5)
  ret double %y
}
define i8 @my_weight(i64 %n) {
  %at = getelementptr i8, ptr @weights, i64 %n
  %w = load i8, ptr %at
  ret i8 %w
}
define void @my_clear(ptr %p, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  ret void
}
define void @hidden() {
  ret void
}
"""

OTHER = """
define i64 @other(i64 %x) {
  %y = mul i64 %x, 2
  ret i64 %y
}
"""


def image(text: str, target: str = "native") -> bytes:
    """The object of a module, for any processor of a target's family."""
    chosen = parse_target(target)
    return plain_object(f'target triple = "{chosen.triple}"\n{text}', chosen)


def link(path: Path, *texts: str, weights: bytes = b"", target: str = "native") -> Path:
    """A library that shows what begins with `my_`."""
    linking = linking_of(parse_target(target).triple)
    data = Weights("weights", len(weights), lambda: (memoryview(weights),))
    names = LibraryNames(path.name, ("my_*",), b'{"a": 1}')
    images = [image(text, target) for text in texts]
    with path.open("wb") as file:
        write_shared_object(file, images, data, names, linking)
    return path


@pytest.mark.parametrize("size", [0, 1, 63, 5000])
def test_code_data_and_weights(tmp_path: Path, size: int) -> None:
    weights = np.random.default_rng(size).bytes(size)
    library = ctypes.CDLL(str(link(tmp_path / "a.so", CALLER, OTHER, weights=weights)))
    assert [library.my_count(), library.my_count()] == [82, 84]
    library.my_name.restype = ctypes.c_char_p
    assert [library.my_name(n) for n in (0, 1)] == [b"one", b"two"]
    assert library.my_process() == library.getpid()
    library.my_power.restype = ctypes.c_double
    assert library.my_power(ctypes.c_double(4)) == 32
    library.my_weight.restype = ctypes.c_uint8
    assert bytes(library.my_weight(n) for n in range(0, size, 7)) == weights[::7]
    room = ctypes.create_string_buffer(b"abcdefgh", 8)
    library.my_clear(room, ctypes.c_int64(5))
    assert room.raw == bytes(5) + b"fgh"


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (tmp_path / name / "a.so" for name in ("one", "two"))
    for path in (first, second):
        path.parent.mkdir()
        link(path, CALLER, OTHER, weights=b"weights")
    assert first.read_bytes() == second.read_bytes()


def test_only_what_is_exported_is_shown(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(link(tmp_path / "a.so", CALLER, OTHER)))
    for name in ("hidden", "other"):
        with pytest.raises(AttributeError):
            library[name]


def test_a_symbol_that_nobody_defines(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="nobody defines other"):
        link(tmp_path / "a.so", CALLER)
    assert undefined_symbols([image(CALLER)], LINKING) == [
        "getpid",
        "memset",
        "other",
        "pow",
        "weights",
    ]


def test_a_symbol_that_two_objects_define(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="two objects define other"):
        link(tmp_path / "a.so", CALLER, OTHER, OTHER)


def test_what_is_not_understood_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="section .tbss"):
        link(tmp_path / "a.so", "@x = thread_local global i64 0")
    with pytest.raises(BuildError, match=r"section \.(init_array|ctors)"):
        link(
            tmp_path / "a.so",
            "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
            "[{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]\ndefine void @f() {\n  ret void\n}",
        )
    with pytest.raises(BuildError, match="no ELF object"):
        undefined_symbols([image(OTHER, "aarch64-linux-gnu")], linking_of("x86_64-linux-gnu"))
    with pytest.raises(BuildError, match="riscv64 cannot be written"):
        linking_of("riscv64-linux-gnu")


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
@pytest.mark.parametrize("target", ["x86_64-linux-gnu", "aarch64-linux-gnu"])
def test_readelf_finds_nothing_wrong(tmp_path: Path, target: str) -> None:
    path = link(tmp_path / "a.so", CALLER, OTHER, weights=bytes(100), target=target)
    command = ["readelf", "--all", "--wide", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    assert "Warning" not in result.stdout and "Error" not in result.stdout
    assert "Library soname: [a.so]" in result.stdout
    assert "GNU_RELRO" in result.stdout and "RWE" not in result.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_c_program_is_linked_against_it(tmp_path: Path) -> None:
    link(tmp_path / "a.so", CALLER, OTHER, weights=b"abc")
    source = tmp_path / "main.c"
    source.write_text(
        "#include <stdio.h>\nlong my_count(void); char my_weight(long); int main(void) {\n"
        '  my_count(); printf("%ld %c\\n", my_count(), my_weight(1)); return 0; }\n'
    )
    command = ["cc", "main.c", "./a.so", "-Wl,-rpath,$ORIGIN", "-Wl,-z,now", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    output = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert output.stdout == "84 b\n"

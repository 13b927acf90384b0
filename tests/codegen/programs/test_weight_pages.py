"""Weights of libraries that move to large pages."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.programs.library_functions import program_library_text
from relay_tune.codegen.programs.memory_regions import LARGE_PAGE
from relay_tune.codegen.programs.weight_pages import add_large_weights, weight_stretches
from relay_tune.ir.expr import Function, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.runtime.model import Model

COLUMNS = 2048

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="libraries are for Linux")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@cache
def product(rows: int) -> Model:
    """A product of one row and weights, each of whose rows has its own number in all columns."""
    dense = find_operator("nn.dense")
    assert dense is not None
    numbers = np.arange(rows, dtype="f").reshape(rows, 1).repeat(COLUMNS, axis=1)
    x = Var("x", TensorType((1, COLUMNS), "float32"))
    return build(Module({"main": Function((x,), dense(x, constant(numbers)))}), threads=2)


def lookup(rows: int) -> Model:
    """Rows of a table."""
    take = find_operator("take")
    assert take is not None
    table = constant(np.zeros((rows, COLUMNS), "f"))
    i = Var("i", TensorType((4,), "int64"))
    return build(Module({"main": Function((i,), take(table, i, axis=0))}), threads=1)


def test_weights_that_are_read_in_whole_are_moved() -> None:
    (stretch,) = weight_stretches(product(4096).compiled())
    assert stretch[1] - stretch[0] == 4096 * COLUMNS * 4


def test_few_weights_and_tables_of_rows_stay() -> None:
    assert weight_stretches(product(1024).compiled()) == ()
    assert weight_stretches(lookup(4096).compiled()) == ()


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "arm64-apple-darwin"])
def test_only_linux_is_asked(triple: str) -> None:
    module = NativeModule()
    add_large_weights(module, triple, [(0, 1 << 25)])
    assert ("@mremap(" in module.text(triple)) == ("linux" in triple)


def test_small_libraries_ask_for_nothing() -> None:
    assert "@mremap(" not in program_library_text(product(1024).compiled(), "net")
    assert "@mremap(" in program_library_text(product(4096).compiled(), "net")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "net.so"
    product(4096).export(path)
    return path


RUN = f"""
import ctypes, os, re, sys, threading
import numpy as np

def is_right():
    x, y = np.ones((1, {COLUMNS}), "f"), np.zeros((1, 4096), "f")
    pointers = [(ctypes.c_void_p * 1)(each.ctypes.data) for each in (x, y)]
    error = library.net_run(*pointers, 1)
    return error == 0 and np.array_equal(y[0], np.arange(4096, dtype="f") * {COLUMNS})

def large_bytes():
    total = 0
    for each in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", open("/proc/self/smaps").read()):
        if "r--p" in each.split("\\n")[0]:
            total += sum(int(n) << 10 for n in re.findall(r"AnonHugePages: +(\\d+) kB", each))
    return total
"""

LOAD = "library = ctypes.CDLL(sys.argv[1])\n"


def run(library: Path, script: str, **environment: str) -> str:
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", RUN + script, str(library)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=environment or None,
    )
    return done.stdout.strip()


def has_large_pages() -> bool:
    """Whether this system gives large pages to those who ask."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return path.exists() and "[never]" not in path.read_text()


@on_linux
def test_they_lie_in_large_pages_that_nobody_writes_to(library: Path) -> None:
    printed = run(library, LOAD + "print(large_bytes(), is_right(), large_bytes(), is_right())")
    before, right, after, again = printed.split()
    assert (right, again) == ("True", "True")
    assert int(before) == 0
    if has_large_pages():
        assert int(after) >= 4096 * COLUMNS * 4 - 2 * LARGE_PAGE


@on_linux
def test_they_stay_where_a_process_wants_no_large_pages(library: Path) -> None:
    refuse = "ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)\n"
    assert run(library, refuse + LOAD + "print(is_right(), large_bytes())") == "True 0"


@on_linux
def test_several_threads_and_a_child_begin_at_once(library: Path) -> None:
    script = """
found = []
def several(): found.extend(is_right() for _ in range(20))
threads = [threading.Thread(target=several) for _ in range(4)]
for each in threads: each.start()
child = os.fork()
if child == 0: os._exit(0 if all(is_right() for _ in range(5)) else 1)
for each in threads: each.join()
print(len(found), all(found), os.waitpid(child, 0)[1])
"""
    assert run(library, LOAD + script) == "80 True 0"


FAILING = """
#include <stddef.h>
#include <sys/syscall.h>
long syscall(long, ...);
void *mremap(void *from, size_t size, size_t new_size, int flags, void *to) {
    static int calls;
    if (++calls < 3) return (void *)syscall(SYS_mremap, from, size, new_size, flags, to);
    if (TAKES_AWAY) syscall(SYS_munmap, to, new_size);
    return (void *)-1;
}
"""


@on_linux
@needs_compiler
@pytest.mark.parametrize("takes_away", [0, 1])
def test_a_call_that_fails_leaves_the_weights(
    library: Path, tmp_path: Path, takes_away: int
) -> None:
    """The third page cannot be moved, and the old one may be gone already."""
    (tmp_path / "fail.c").write_text(FAILING.replace("TAKES_AWAY", str(takes_away)))
    shim = tmp_path / "fail.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(shim), str(tmp_path / "fail.c")]
    subprocess.run(command, check=True)
    script = LOAD + "print(is_right(), is_right(), large_bytes())"
    right, again, large = run(library, script, LD_PRELOAD=str(shim)).split()
    assert (right, again) == ("True", "True")
    if has_large_pages():
        assert 2 * LARGE_PAGE <= int(large) <= 3 * LARGE_PAGE


def test_sessions_move_them_before_they_begin() -> None:
    text = program_library_text(product(4096).compiled(), "net")
    for name in ("net_open", "take_session"):
        body = re.search(rf"define [^\n]*@{name}\(.*?\n}}", text, re.DOTALL)
        assert body is not None
        assert body[0].index("@large_weights()") < body[0].index("@relay_tune_open(")

import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from tests.codegen.programs.plain_library import PlainLibrary

PAGE = Path(__file__).parents[3] / "docs" / "c_api.md"

NETWORK = """
def @main(%x: Tensor[(n, 4), float32], %b: Tensor[(n), float32], %z: Tensor[(2 * n + m), float32],
          %y: Tensor[(m, 4), float32], %w: Tensor[(3, 4), float32]) {
  (nn.dense(%x, %w), (concatenate((%x, %y), axis=0), sum(%b)), %z, max(%w, axis=[0]), %b * 2f)
}
"""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> PlainLibrary:
    return PlainLibrary(NETWORK, tmp_path_factory.mktemp("plain") / "net.so")


def inputs(n: int, m: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    shapes = [(n, 4), (n,), (2 * n + m,), (m, 4), (3, 4)]
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


def test_outputs_have_the_sizes_of_the_run(network: PlainLibrary) -> None:
    assert "session" not in network.header
    assert [each[2:] for each in network.described("input")[2:]] == [
        ([-1], -1),
        ([-1, 4], -1),
        ([3, 4], 48),
    ]
    for n, m in ((3, 2), (1, 1), (9000, 70), (2, 5), (0, 2)):
        given = inputs(n, m)
        first, (joined, total), *others = interpret(parse(NETWORK), *given)
        found = network.run_open(given, threads=2)
        assert isinstance(found, list)
        for ours, expected in zip(found, (first, joined, total, *others), strict=True):
            assert ours.shape == np.shape(expected)
            np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("number", "shape", "type_"),
    [
        (0, [3, 5], "Tensor[(n, 4), float32]"),
        (0, [-3, 4], "Tensor[(n, 4), float32]"),
        (1, [4], "Tensor[(n,), float32]"),
        (2, [9], "Tensor[(m + 2 * n,), float32]"),
        (4, [3, 3], "Tensor[(3, 4), float32]"),
    ],
)
def test_sizes_that_do_not_fit(
    network: PlainLibrary, number: int, shape: list[int], type_: str
) -> None:
    given = inputs(3, 2)
    shapes = [list(array.shape) for array in given]
    shapes[number] = shape
    status = network.run_open(given, shapes)
    assert isinstance(status, int)
    message = network.text("message", status)
    assert f"'{network.text('input_name', number)}' do not fit {type_}" in message


def test_runs_may_overlap(network: PlainLibrary) -> None:
    def run_often(n: int) -> bool:
        given = inputs(n, 3)
        found = [network.run_open(given) for _ in range(20)]
        doubled = [each[-1] for each in found if isinstance(each, list)]
        return len(doubled) == 20 and all(np.array_equal(each, 2 * given[1]) for each in doubled)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run_often, [1, 20, 300, 9000]))


COUNTS = "def @main(%x: Tensor[(n), float32]) { let %y = %x + 1f; (argwhere(%x), %y, %y) }"


def test_sizes_that_depend_on_elements(tmp_path: Path) -> None:
    counts = PlainLibrary(COUNTS, tmp_path / "counts.so")
    for x in (np.array([0, 1, 0, 2, 3], "float32"), np.zeros(9000, "float32"), np.ones(1, "f")):
        found = counts.run_open([x])
        assert isinstance(found, list)
        np.testing.assert_array_equal(found[0], np.argwhere(x))
        for each in found[1:]:
            np.testing.assert_array_equal(each, x + 1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_program_of_the_page(tmp_path: Path) -> None:
    section = PAGE.read_text().split("## Dynamic sizes")[1]
    program = re.search(r"```c\n(.*?)```", section, re.DOTALL)
    assert program is not None
    PlainLibrary(
        "def @main(%x: Tensor[(n, 2), float32]) { concatenate((%x, %x * 10f), axis=1) }",
        tmp_path / "rows.so",
    )
    (tmp_path / "program.c").write_text(program.group(1))
    command = "cc program.c ./rows.so -Wl,-rpath,$ORIGIN -o program -Wall -Wextra -Werror -std=c99"
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    output = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert output.stdout == "3 x 4: 1 2 10 20 3 4 30 40 5 6 50 60\n"

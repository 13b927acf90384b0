"""A network on matrix registers: built from a log, exported, loaded, called from C."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import logs
import relay_tune as rt
from relay_tune.codegen.target import native_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.errors import InputError
from relay_tune.ir.expr import Function, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.runtime import load as load_module
from relay_tune.runtime import processor_check
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.rewrites.matrix_products.record import BF16X6
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.tasks import extract_tasks
from relay_tune.tuning.tuned_build import Coverage

pytestmark = pytest.mark.skipif(not native_target().intrinsics, reason="needs matrix registers")

PAGE = Path(__file__).parents[2] / "docs" / "c_api.md"
RNG = np.random.default_rng(17)


def weights(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype("float32")


FIRST, SECOND, LAST = weights(32, 3, 3, 3), weights(32, 32, 3, 3), weights(48, 32)


def network() -> Module:
    """Two convolutions of an image, the second with a residual, and a dense layer of its places."""
    x = Var("x", TensorType((1, 3, 10, 10), "float32"))
    names = ("nn.conv2d", "nn.relu", "add", "reshape", "transpose", "nn.dense")
    conv2d, relu, add, reshape, transpose, dense = map(find_operator, names)
    assert conv2d and relu and add and reshape and transpose and dense
    first = relu(conv2d(x, constant(FIRST), padding=(1, 1)))
    second = add(relu(conv2d(first, constant(SECOND), padding=(1, 1))), first)
    rows = reshape(transpose(second, axes=(0, 2, 3, 1)), newshape=(100, 32))
    body = dense(rows, constant(LAST))
    return Module({"main": Function((x,), body)}, attributes={"outputs": ("scores",)})


def expected(x: np.ndarray) -> np.ndarray:
    """The same in float64."""

    def convolved(data: np.ndarray, taps: np.ndarray) -> np.ndarray:
        padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.einsum("nchwij,ocij->nohw", windows, taps.astype("float64"))

    first = np.maximum(convolved(x.astype("float64"), FIRST), 0)
    second = np.maximum(convolved(first, SECOND), 0) + first
    return second.transpose(0, 2, 3, 1).reshape(100, 32) @ LAST.astype("float64").T


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which six products of bfloat16 are the best that each task has."""
    path, target = tmp_path_factory.mktemp("log") / "tuning.db", native_target()
    with logs.open_log(path) as opened:
        for task in extract_tasks(default_pipeline()(network())):
            if BF16X6() not in task.plan.algorithms:
                continue
            plan = task.plan.with_algorithm(BF16X6())
            _, schedule = plan.default_under_algorithm(machine_of(target), 2)
            opened.append(
                logs.Record(
                    task.key.digest,
                    target.key,
                    2,
                    CODE_VERSION,
                    schedule.to_json(),
                    status=logs.Status.OK,
                    created=1.0,
                    source="test",
                    seconds=1e-6,
                )
            )
    return path


@pytest.fixture(scope="module")
def model(log: Path) -> rt.Model:
    return rt.build(network(), log=log, accuracy="exact", threads=2)


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return RNG.standard_normal((1, 3, 10, 10)).astype("float32")


def assert_exact(found: object, x: np.ndarray) -> None:
    wanted = expected(x)
    assert np.abs(np.asarray(found) - wanted).max() <= 2e-6 * np.abs(wanted).max()


def test_an_exact_network_runs_on_matrix_registers(log: Path, image: np.ndarray) -> None:
    coverage = Coverage()
    model = rt.build(network(), log=log, accuracy="exact", threads=2, coverage=coverage)
    assert len(coverage.tuned) == 3 and not coverage.skipped
    features = model.compiled().features
    assert {"amx-tile", "amx-bf16"} <= set(features)
    assert_exact(model(image), image)


def test_calls_agree_with_each_other(model: rt.Model, image: np.ndarray) -> None:
    first = np.array(model(image))
    for _ in range(20):
        np.testing.assert_array_equal(model(image), first)


def test_one_thread_and_two_agree(log: Path, model: rt.Model, image: np.ndarray) -> None:
    alone = rt.build(network(), log=log, accuracy="exact", threads=1)
    np.testing.assert_array_equal(alone(image), model(image))


def test_a_network_that_is_built_without_registers_needs_none(image: np.ndarray) -> None:
    target = f"{native_target()}:-amx-tile,-amx-bf16,-amx-int8"
    model = rt.build(network(), target=target, threads=1, accuracy="exact")
    features = model.compiled().features
    assert not [name for name in features if name.startswith("amx")]
    assert_exact(model(image), image)


@pytest.fixture(scope="module")
def library(model: rt.Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    path = tmp_path_factory.mktemp("library") / "digits.so"
    model.export(path)
    return path


def test_a_library_asks_for_the_registers(
    library: Path, model: rt.Model, image: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        load_module, "check_features", lambda triple, features, name: asked.extend(features)
    )
    loaded = rt.load(library)
    assert {"amx-tile", "amx-bf16"} <= set(asked)
    np.testing.assert_array_equal(loaded(image), model(image))


def test_a_machine_without_registers_does_not_load_it(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = {**processor_check._host_features(), "amx-tile": False}
    monkeypatch.setattr(processor_check, "_host_features", lambda: present)
    with pytest.raises(InputError, match="this machine lacks amx-tile"):
        rt.load(library)


def test_a_program_in_c_calls_it(library: Path, model: rt.Model) -> None:
    """In a process of its own, which nobody asked for the registers, on two threads."""
    page = PAGE.read_text()
    program = re.search(r"```c\n(.*?)```", page, re.DOTALL)
    command = re.search(r"```sh\n(.*?)```", page, re.DOTALL)
    assert program is not None and command is not None
    folder = library.parent
    (folder / "program.c").write_text(program.group(1))
    subprocess.run(shlex.split(command.group(1)), cwd=folder, check=True)
    run = subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=True)
    numbers = [float(number) for number in run.stdout.split(":")[1].split()]
    data = (np.arange(300, dtype="f") / 100).reshape(1, 3, 10, 10)
    wanted = np.asarray(model(data)).reshape(-1)
    np.testing.assert_allclose(numbers, wanted, atol=2e-6)


def test_a_fresh_process_loads_it(
    library: Path, model: rt.Model, image: np.ndarray, tmp_path: Path
) -> None:
    np.save(tmp_path / "image.npy", image)
    script = (
        "import sys, numpy as np, relay_tune as rt\n"
        "np.save('found.npy', np.asarray(rt.load(sys.argv[1])(np.load('image.npy'))))\n"
    )
    command = [sys.executable, "-c", script, str(library)]
    subprocess.run(command, cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), model(image))

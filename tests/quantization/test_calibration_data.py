from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.types import TensorType
from relay_tune.quantization.calibration_data import CalibrationData

ONE = {"x": TensorType((2, 3), "float32")}
TWO = {**ONE, "n": TensorType((2,), "int64")}
OPEN = {"x": TensorType((Symbol("n"), 3), "float32")}
ROWS = np.arange(42, dtype="float32").reshape(14, 3)


class Unreadable:
    """As a tensor of torch that requires a gradient."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("needs a gradient")


def shapes(data: CalibrationData) -> list[tuple[int, ...]]:
    return [sample["x"].shape for sample in data]


@pytest.mark.parametrize(
    "given",
    [
        {"x": ROWS},
        ROWS,
        ROWS.reshape(7, 2, 3),
        [ROWS[n : n + 2] for n in range(0, 14, 2)],
        [{"x": ROWS[:8]}, {"x": ROWS[8:]}],
        ({"x": part} for part in ROWS.reshape(7, 2, 3)),
    ],
    ids=["dict", "array", "stacked", "list", "list of dicts", "generator"],
)
def test_forms_of_samples(given: object) -> None:
    data = CalibrationData(given, ONE)
    assert data.count == 7 and shapes(data) == [(2, 3)] * 7
    for _ in range(2):  # generators, too, are walked more than once
        assert np.array_equal(np.concatenate([sample["x"] for sample in data]), ROWS)


def test_arrays_of_types_that_numpy_does_not_lend() -> None:
    narrow = ROWS.astype(ml_dtypes.bfloat16)
    data = CalibrationData({"x": narrow}, {"x": TensorType((2, 3), "bfloat16")})
    assert np.array_equal(np.concatenate([sample["x"] for sample in data]), narrow)


def test_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "b.npz", x=ROWS[4:])
    np.save(tmp_path / "a.npy", ROWS[:4])
    (tmp_path / "notes.txt").write_text("no samples")
    data = CalibrationData(tmp_path, ONE)
    assert np.array_equal(np.concatenate([sample["x"] for sample in data]), ROWS)
    assert CalibrationData(str(tmp_path / "b.npz"), ONE).count == 5


def test_rows_that_are_no_whole_batch_are_counted() -> None:
    assert CalibrationData(ROWS[:13], ONE).left_over == 1
    assert CalibrationData(ROWS, ONE).left_over == 0


def test_open_sizes_are_taken_as_they_come() -> None:
    assert shapes(CalibrationData([ROWS[:5], ROWS[:1]], OPEN)) == [(5, 3), (1, 3)]
    few, many = (CalibrationData(np.zeros((n, 3), "float32"), OPEN) for n in (41, 1000))
    assert shapes(few) == [(2, 3)] * 20 + [(1, 3)] and few.left_over == 0
    assert shapes(many) == [(16, 3)] * 62 + [(8, 3)]


def test_an_input_may_be_the_same_for_all_samples() -> None:
    data = CalibrationData({"x": ROWS, "n": np.array([4, 5])}, TWO)
    assert [list(sample["n"]) for sample in data] == [[4, 5]] * 7


@pytest.mark.parametrize(
    "given, message",
    [
        ([], "have no samples"),
        ({"x": ROWS[:0]}, "have no samples"),
        (ROWS[:, :2], "must be Tensor"),
        (ROWS.astype(int), "must be Tensor"),
        ([ROWS[:2], np.full((2, 3), np.nan, "float32")], "NaN or infinite"),
        ({"y": ROWS}, "there is no input 'y'"),
        ({}, "input 'x' is missing"),
        (3, "a value of type int"),
        ("text", "no calibration data"),
        ([(ROWS, ROWS)], "2 array"),
        (["ab"], "must be Tensor|cannot be read"),
        ([{"x": Unreadable()}], "Input 'x' cannot be read as an array: needs a gradient"),
    ],
)
def test_what_does_not_fit_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CalibrationData(given, ONE)


def test_inputs_need_equally_many_samples() -> None:
    with pytest.raises(InputError, match="7 samples of input 'x', but 2 of 'n'"):
        CalibrationData({"x": ROWS, "n": np.zeros((2, 2), "int64")}, TWO)

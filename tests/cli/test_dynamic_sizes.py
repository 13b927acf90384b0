"""Verbs on models of dynamic sizes: --shape with ranges, and inputs that are named twice."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tune

TEXT = """
def @main(%x: Tensor[(n, 8), float32], %w: Tensor[(16, 8), float32]) { nn.dense(%x, %w) }
"""


@pytest.fixture
def dynamic(tmp_path: Path) -> Path:
    path = tmp_path / "dynamic.relay"
    path.write_text(TEXT)
    return path


def test_run_tunes_for_a_range_and_bench_compares_at_its_points(
    tune: Tune, dynamic: Path, tmp_path: Path
) -> None:
    shape = ("--shape", "x=2..16,8", "--threads", 1, "--log", tmp_path / "tuning.db")
    library = tmp_path / "dynamic.so"
    ran = tune("run", dynamic, *shape, "--trials", 2, "-o", library)
    assert ran.code == 0, ran.err
    assert library.exists()
    built = json.loads(tune("build", dynamic, *shape, "-o", library, "--json").out)
    assert built["tuned"] >= 1
    lines = json.loads(tune("bench", dynamic, *shape, "--repeat", 1, "--json").out)
    assert [(line["shapes"]["x"], line["variant"]) for line in lines] == [
        ([rows, 8], variant) for rows in (2, 16) for variant in ("untuned", "tuned")
    ]


def test_profile_runs_at_each_size_that_is_named(tune: Tune, dynamic: Path) -> None:
    shapes = ("--shape", "x=3,8", "--shape", "x=12,8", "--threads", 1)
    small, large = json.loads(tune("profile", dynamic, *shapes, "--json").out)
    assert (small["shapes"], large["shapes"]) == ({"x": [3, 8]}, {"x": [12, 8]})
    assert [kernel["title"] for kernel in small["kernels"]]
    text = tune("profile", dynamic, *shapes).out
    assert text.splitlines()[0] == "x=3,8"


@pytest.mark.parametrize("verb", ["run", "bench", "profile"])
def test_sizes_have_to_be_named(tune: Tune, dynamic: Path, verb: str) -> None:
    outcome = tune(verb, dynamic)
    assert outcome.code == 1
    assert "dynamic size: x: Tensor[(n, 8), float32]" in outcome.err
    assert "--shape x=1..64,8" in outcome.err


@pytest.mark.parametrize(
    "shape", ["x=1..,8", "x=..4,8", "x=..,8", "x=,8", "x=-1..2,8", "x=1...3,8", "x=1..4..8,8"]
)
def test_a_range_has_a_least_and_a_largest_size(tune: Tune, dynamic: Path, shape: str) -> None:
    outcome = tune("run", dynamic, "--shape", shape)
    assert outcome.code == 2
    assert "does not read like NAME=1,3,224,224 or NAME=1..64,256" in outcome.err


def test_a_range_begins_with_its_least_size(tune: Tune, dynamic: Path) -> None:
    outcome = tune("run", dynamic, "--shape", "x=98..32,8")
    assert outcome.code == 2
    assert "'x=98..32,8' has a range that ends before it begins; write 32..98" in outcome.err


@pytest.mark.parametrize("verb", ["run", "build", "bench", "profile"])
def test_a_range_begins_at_one_at_least(tune: Tune, dynamic: Path, verb: str) -> None:
    outcome = tune(verb, dynamic, "--shape", "x=0..4,8")
    assert outcome.code == 2
    assert "'x=0..4,8' has a range that begins at 0" in outcome.err
    assert "write 1..4, and the model runs for 0, too" in outcome.err


def test_inputs_are_named_equally_often(tune: Tune, dynamic: Path) -> None:
    twice = ("--shape", "x=1,8", "--shape", "x=2,8")
    outcome = tune("run", dynamic, *twice, *(word for _ in range(3) for word in ("--shape", "w=1")))
    assert outcome.code == 1
    assert "Name each input once, or as often as the others." in outcome.err

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cost_model import CostModel, CostModelError, Row

ROWS = [Row("a", (float(i), float(i % 3)), float(i % 7)) for i in range(30)]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model = CostModel(0)
    model.update(ROWS)
    model.save(tmp_path / "model.json")
    return tmp_path / "model.json"


def test_truncated_files_are_refused(saved: Path) -> None:
    text = saved.read_text()
    for length in (0, 1, len(text) // 2, len(text) - 1):
        saved.write_text(text[:length])
        with pytest.raises(CostModelError):
            CostModel(0).load(saved)


def test_damaged_files_are_refused_and_leave_the_model_alone(saved: Path) -> None:
    model = CostModel(0)
    model.update(ROWS[:10])
    expected = model.predict([[1.0, 1.0]]).tolist()
    content = saved.read_bytes()
    rng = random.Random(0)
    for _ in range(100):
        place = rng.randrange(len(content))
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.randrange(8)
        saved.write_bytes(damaged)
        with pytest.raises(CostModelError):
            model.load(saved)
    assert model.predict([[1.0, 1.0]]).tolist() == expected


@pytest.mark.parametrize("text", ["[]", "{}", "3", '{"format": "cost_model"}', "[" * 100_000])
def test_other_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(CostModelError):
        CostModel(0).load(path)


def test_a_missing_file_is_an_error_of_the_model(tmp_path: Path) -> None:
    with pytest.raises(CostModelError, match="cannot be read"):
        CostModel(0).load(tmp_path / "none.json")


def test_another_version_is_named(saved: Path) -> None:
    content = json.loads(saved.read_text()) | {"version": 99}
    saved.write_text(json.dumps(content))
    with pytest.raises(CostModelError, match="has version 99, this program reads 2"):
        CostModel(0).load(saved)


def root_of_first_tree(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(model: dict[str, Any]) -> None:
        model["trees"][0][name][0] = value

    return change


def declare_more_nodes(model: dict[str, Any]) -> None:
    model["trees"][0]["tree_param"]["num_nodes"] = "1000000"


def drop_trees(model: dict[str, Any]) -> None:
    model["trees"] = []


@pytest.mark.parametrize(
    "change",
    [
        root_of_first_tree("left_children", 10_000_000),
        root_of_first_tree("left_children", 0),
        root_of_first_tree("right_children", -7),
        root_of_first_tree("split_indices", 5000),
        root_of_first_tree("split_indices", "0"),
        root_of_first_tree("split_type", 1),
        declare_more_nodes,
        drop_trees,
    ],
)
def test_trees_that_point_astray_never_reach_the_library(
    saved: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    content = json.loads(saved.read_text())
    trees = json.loads(content["trees"])
    change(trees["learner"]["gradient_booster"]["model"])
    content["trees"] = json.dumps(trees)
    names = " ".join(content["feature_names"])
    text = f"{content['feature_count']} {names} {content['rows']} {content['trees']}"
    content["digest"] = hashlib.sha256(text.encode()).hexdigest()
    saved.write_text(json.dumps(content))
    with pytest.raises(CostModelError, match="the trees are"):
        CostModel(0).load(saved)


def test_a_model_of_other_features_is_refused(tmp_path: Path) -> None:
    named = CostModel(0, feature_names=("width", "depth"))
    named.update([Row("task", [float(n), 1.0], 1.0 + n) for n in range(20)])
    named.save(tmp_path / "named.json")
    CostModel(0, feature_names=("width", "depth")).load(tmp_path / "named.json")
    with pytest.raises(CostModelError, match="other features"):
        CostModel(0, feature_names=("depth", "width")).load(tmp_path / "named.json")

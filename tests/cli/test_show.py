from __future__ import annotations

from pathlib import Path

from relay_tune import parse, structural_equal
from tests.cli.conftest import TEXT, Tune


def test_the_text_can_be_read_back(tune: Tune, model: Path) -> None:
    outcome = tune("show", model)
    assert outcome.code == 0
    assert structural_equal(parse(outcome.out), parse(TEXT))


def test_types_are_added_as_comments(tune: Tune, model: Path) -> None:
    assert "Tensor[(4, 16), float32]" not in tune("show", model).out
    assert "/* ty=Tensor[(4, 16), float32] */" in tune("show", model, "--types").out


def test_after_a_pass(tune: Tune, model: Path) -> None:
    assert "Primitive=1" in tune("show", model, "--after", "fuse").out
    assert "Primitive=1" not in tune("show", model, "--after", "infer_types").out


def test_an_unknown_pass_lists_the_known_ones(tune: Tune, model: Path) -> None:
    outcome = tune("show", model, "--after", "nonsense")
    assert outcome.code == 1
    assert "fold_constants" in outcome.err


def test_weights_are_shown_on_demand(tune: Tune) -> None:
    short, whole = tune("show", "zoo:mlp").out, tune("show", "zoo:mlp", "--weights").out
    assert "#[metadata]" not in short
    assert whole.startswith(short.rstrip())
    parse(whole)


def test_a_type_error_says_where(tune: Tune, tmp_path: Path) -> None:
    path = tmp_path / "wrong.relay"
    path.write_text("def @main(%x: Tensor[(4, 8), float32]) {\n  nn.dense(%x, %x.0)\n}")
    outcome = tune("show", path, "--types")
    assert outcome.code == 1
    assert f"{path}:2:" in outcome.err
    assert "^" in outcome.err


def test_kernels_of_open_sizes_are_refused_in_the_names_of_the_inputs(
    tune: Tune, tmp_path: Path
) -> None:
    path = tmp_path / "open.relay"
    path.write_text("def @main(%rows: Tensor[(n, 16), float32]) { nn.relu(%rows) }")
    outcome = tune("show", path, "--kernels", "schedules")
    assert outcome.code == 1
    assert "inputs of dynamic size: rows: Tensor[(n, 16), float32]." in outcome.err
    assert "--shape rows=1,16 on the command line" in outcome.err
    assert "from_onnx(model, shapes={'rows': (1, 16)})" in outcome.err

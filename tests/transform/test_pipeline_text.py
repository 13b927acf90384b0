"""Pipelines as text, and their options."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from relay_tune.codegen.target import parse_target
from relay_tune.errors import InputError
from relay_tune.ir.module import Module
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.catalogue import LANGUAGE, STANDARD
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.fusion.fuse import Fuse
from relay_tune.transform.layout.choose_layout import ChooseLayout
from relay_tune.transform.option_values import described_options, options_of
from relay_tune.transform.pipeline import Pipeline, PipelineOptions, default_pipeline
from relay_tune.transform.pipeline_text import parse_pipeline, pipeline_after
from relay_tune.transform.simplify_expression import SimplifyExpression
from tests.installed_packages import install_entry

EXACT = PipelineOptions(
    layout="NCHW", maximum_group_size=3, accuracy=Accuracy.EXACT, slice_views=False
)


@pytest.mark.parametrize("options", [PipelineOptions(), EXACT, PipelineOptions("NHWC", 64, False)])
def test_round_trip(options: PipelineOptions) -> None:
    pipeline = default_pipeline(options)
    assert parse_pipeline(str(pipeline)) == pipeline


def test_options_of_each_type() -> None:
    text = " fold_constants{ keep = [zeros, ones], maximum_growth=0 } ,fuse{slice_views=false}"
    assert parse_pipeline(text).passes == (
        FoldConstants(0, frozenset({"zeros", "ones"})),
        Fuse(slice_views=False),
    )
    assert parse_pipeline("fold_constants{keep=[]},fold_constants{keep=ones}").passes == (
        FoldConstants(),
        FoldConstants(keep=frozenset({"ones"})),
    )
    (step,) = parse_pipeline("simplify_expression{accuracy=exact}").passes
    assert step == SimplifyExpression(Accuracy.EXACT)


def test_default_has_the_options_of_the_pipeline() -> None:
    assert parse_pipeline("default") == default_pipeline()
    text = "default{layout=NCHW,maximum_group_size=3,explicit_padding=false}"
    assert parse_pipeline(text) == default_pipeline(PipelineOptions("NCHW", 3, False))


def test_what_is_not_said_is_that_of_the_build() -> None:
    machine = parse_target("aarch64-linux-gnu:neoverse-n1").machine
    options = PipelineOptions(accuracy=Accuracy.RELAXED, machine=machine, slice_views=False)
    text = "simplify_expression,choose_layout{layout=NHWC},fuse{maximum_group_size=2}"
    assert parse_pipeline(text, options).passes == (
        SimplifyExpression(Accuracy.RELAXED),
        ChooseLayout("NHWC", machine, Accuracy.RELAXED),
        Fuse(2, slice_views=False),
    )


def test_every_pass_can_be_named() -> None:
    for name, kind in {**STANDARD, **LANGUAGE}.items():
        assert parse_pipeline(name).passes == (kind(),)
        assert len(described_options(kind).split("), ")) >= len(options_of(kind))


def test_after_default_all_passes_have_run() -> None:
    after = pipeline_after("default{layout=NCHW}").passes
    assert after == parse_pipeline("default{layout=NCHW}").passes


def test_after_a_pass_with_options() -> None:
    passes = pipeline_after("fold_constants{maximum_growth=1}").passes
    assert passes[-1] == FoldConstants(1)
    assert {step for step in passes if step.name == "fold_constants"} == {FoldConstants(1)}
    short = pipeline_after("fuse", whole=parse_pipeline("split_tuples,fuse,fold_constants"))
    assert [step.name for step in short.passes] == ["split_tuples", "fuse"]
    with pytest.raises(InputError, match="names several passes"):
        pipeline_after("fuse,fuse")


def test_passes_of_the_language_run_by_themselves() -> None:
    names = [step.name for step in pipeline_after("lambda_lift").passes]
    assert names == ["infer_types", "lambda_lift"]
    assert pipeline_after("fuse").passes[-1].name == "fuse"


@dataclass(frozen=True)
class Own:
    """A pass with an option of its own, and one of the pipeline."""

    name: ClassVar[str] = "own"
    times: float = 1.5
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        return module


def test_more_passes_before_one() -> None:
    pipeline = default_pipeline().before("fuse", Own())
    assert [step.name for step in pipeline.until("fuse").passes[-2:]] == ["own", "fuse"]
    with pytest.raises(InputError, match="There is no pass 'nothing'"):
        pipeline.before("nothing", Own())
    names = [step.name for step in Pipeline((Own(), Fuse())).typed().passes]
    assert names == ["own", "infer_types", "fuse"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_package:Pass", "cannot be loaded: No module named 'no_such_package'"),
        (f"{__name__}:EXACT", "is no dataclass with this name, but"),
        (f"{__name__}:PASSES", "cannot be loaded: module"),
    ],
)
def test_packages_without_a_pass(
    value: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install_entry(tmp_path, "broken", "relay_tune.passes", f"broken.pass = {value}")
    with pytest.raises(InputError, match="The pass broken.pass of the package broken") as caught:
        parse_pipeline("broken.pass")
    assert reason in caught.value.message
    with pytest.raises(InputError) as caught:
        parse_pipeline("brokn.pass")
    assert caught.value.remedy == "Did you mean broken.pass?"

"""A few of the random networks of benchmarks/fuzz_operators.py, and what its answers tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fuzz_operators import outcome
from benchmarks.fuzzing.operators.answers import disagreements
from benchmarks.fuzzing.operators.networks import operator_network

pytestmark = pytest.mark.builds_apart


@pytest.mark.parametrize("seed", range(12))
def test_networks_give_what_other_runtimes_give(seed: int) -> None:
    word, *problems = outcome(seed)
    assert word in ("right", "nobody runs it"), problems


def test_the_seeds_reach_most_operators_and_all_element_types() -> None:
    """Building networks takes no time, so that this looks at more of them than run above."""
    graphs = [operator_network(seed).model.graph for seed in range(150)]
    assert len({node.op_type for graph in graphs for node in graph.node}) >= 130
    assert len({each.type.tensor_type.elem_type for graph in graphs for each in graph.input}) == 13
    shapes = [
        [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        for graph in graphs
        for each in graph.input
    ]
    assert any(0 in shape for shape in shapes) and [] in shapes


def test_an_answer_is_right_if_one_of_the_others_has_it() -> None:
    ours = [np.array([1.0, np.nan], np.float32)]
    near, other = [np.array([1.00001, np.nan], np.float32)], [np.array([1.0, 2.0], np.float32)]
    assert disagreements(ours, iter([("a", other), ("b", near)])) == []
    (problem,) = disagreements(ours, iter([("a", other), ("b", [ours[0][:1]])]))
    assert "a: output 0: float32 infinite" in problem and "b: output 0 is float32(2,)" in problem
    (problem,) = disagreements([np.array([1, 2])], iter([("a", [np.array([1, 3])])]))
    assert problem == "a: output 0: 1 of 2 int64 differ"

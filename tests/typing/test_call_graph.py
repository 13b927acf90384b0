"""Groups of functions that use each other."""

from itertools import pairwise

from relay_tune.ir.expr import Function, GlobalVar, Tuple
from relay_tune.ir.module import Module
from relay_tune.typing.call_graph import recursive_groups


def module_of(**uses):
    return Module(
        {
            name: Function((), Tuple(tuple(GlobalVar(used) for used in used_names)))
            for name, used_names in uses.items()
        }
    )


def test_a_group_comes_after_those_it_uses():
    module = module_of(main=["f", "g"], f=["g"], g=[])
    assert recursive_groups(module) == [("g",), ("f",), ("main",)]


def test_functions_that_use_each_other_are_one_group():
    module = module_of(a=["b"], b=["c"], c=["a", "d"], d=["d"])
    groups = recursive_groups(module)
    assert groups[0] == ("d",)
    assert sorted(groups[1]) == ["a", "b", "c"]


def test_two_cycles_that_share_a_function():
    groups = recursive_groups(module_of(a=["b", "c"], b=["a"], c=["a"]))
    assert [sorted(group) for group in groups] == [["a", "b", "c"]]


def test_long_chain_needs_no_recursion():
    names = [f"f{i}" for i in range(5000)]
    module = module_of(**{name: [after] for name, after in pairwise([*names, "f0"])})
    assert len(recursive_groups(module)) == 1

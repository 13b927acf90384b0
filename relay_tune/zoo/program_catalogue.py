"""The built-in programs: their sizes, and what they read."""

from __future__ import annotations

from functools import cache

import numpy as np

from relay_tune.ir.module import Module
from relay_tune.runtime.data_values import data_value, list_value
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.std import prelude
from relay_tune.zoo.programs import Inputs, Sizes, ZooProgram

LEAVES = 30


def _name_to_write(random: np.random.Generator, sizes: Sizes) -> Inputs:
    return {
        "category": np.asarray(random.integers(sizes["c"])),
        "first": np.asarray(random.integers(sizes["n"] - 1)),
        "limit": np.asarray(20, np.int32),
    }


def _sequence(random: np.random.Generator, sizes: Sizes) -> Inputs:
    shape = (sizes["t"], sizes["b"], sizes["x"])
    return {"data": random.standard_normal(shape).astype(np.float32)}


def _sentence(random: np.random.Generator, sizes: Sizes) -> Inputs:
    words = random.integers(0, sizes["v"], random.integers(5, 15))
    return {"source": words, "limit": np.asarray(20, np.int32)}


def _parse_tree(random: np.random.Generator, sizes: Sizes) -> Inputs:
    return {"tree": random_tree(random, LEAVES, sizes["x"])}


def random_tree(random: np.random.Generator, leaves: int, features: int) -> ConstructorValue:
    """A binary rose tree with that many leaves; each node holds a tensor [1, features]."""
    nodes = [_node(random, features) for _ in range(leaves)]
    while len(nodes) > 1:
        position = int(random.integers(len(nodes) - 1))
        nodes[position : position + 2] = [_node(random, features, *nodes[position : position + 2])]
    return nodes[0]


def _node(
    random: np.random.Generator, features: int, *children: ConstructorValue
) -> ConstructorValue:
    value = random.standard_normal((1, features)).astype(np.float32)
    return data_value(_trees(), "Rose", value, list_value(children))


@cache
def _trees() -> Module:
    """The data type of rose trees; read when it is first asked for, not by every process."""
    return prelude("Tree")


PROGRAMS = {
    "char_rnn": ZooProgram(
        name="char_rnn",
        uses=("rev",),
        full={"c": 18, "n": 59, "h": 128},
        small={"c": 3, "n": 7, "h": 8},
        inputs=_name_to_write,
        states=("hidden",),
        numbers=lambda sizes: {"stop": sizes["n"] - 1},
    ),
    "lstm_list": ZooProgram(
        name="lstm_list",
        uses=("map_accuml",),
        full={"t": 100, "b": 1, "x": 512, "h": 512},
        small={"t": 5, "b": 1, "x": 12, "h": 8},
        inputs=_sequence,
        states=("hidden", "cell"),
    ),
    "gru_list": ZooProgram(
        name="gru_list",
        uses=("map_accuml",),
        full={"t": 100, "b": 1, "x": 512, "h": 512},
        small={"t": 5, "b": 1, "x": 12, "h": 8},
        inputs=_sequence,
        states=("hidden",),
    ),
    "tree_lstm": ZooProgram(
        name="tree_lstm",
        uses=("Tree", "foldl"),
        full={"x": 300, "h": 150},
        small={"x": 6, "h": 4},
        inputs=_parse_tree,
        states=("zero",),
    ),
    "tree_lstm_300": ZooProgram(
        name="tree_lstm",
        uses=("Tree", "foldl"),
        full={"x": 300, "h": 300},
        small={"x": 6, "h": 4},
        inputs=_parse_tree,
        states=("zero",),
    ),
    "seq2seq": ZooProgram(
        name="seq2seq",
        uses=("rev",),
        full={"v": 3000, "w": 3000, "h": 256},
        small={"v": 9, "w": 7, "h": 4},
        inputs=_sentence,
        states=("no_state", "no_memory"),
        numbers=lambda sizes: {"start": 0, "stop": 1},
    ),
}
"""The programs by name; `tree_lstm` has 150 hidden features."""

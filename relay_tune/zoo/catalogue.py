"""The built-in architectures by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

import numpy as np

from relay_tune.arguments import did_you_mean, instance_of, whole_number
from relay_tune.errors import InputError, fix_sizes
from relay_tune.ir.expr import Var
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module, require_module
from relay_tune.ir.types import TensorType
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.index_inputs import choices_of_inputs
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_terms import substitute_symbols
from relay_tune.zoo.bert import bert_base
from relay_tune.zoo.dcgan import dcgan
from relay_tune.zoo.decoder import STEP_SIZES
from relay_tune.zoo.dqn import nature_dqn
from relay_tune.zoo.gpt2 import gpt2
from relay_tune.zoo.llama import llama_100m
from relay_tune.zoo.mlp import mlp
from relay_tune.zoo.mobilenet import mobilenet_v2
from relay_tune.zoo.program_catalogue import PROGRAMS
from relay_tune.zoo.programs import program_inputs, program_module
from relay_tune.zoo.recurrent import gru, lstm
from relay_tune.zoo.resnet import resnet18, resnet50
from relay_tune.zoo.squeezenet import squeezenet1_1
from relay_tune.zoo.vgg import vgg16
from relay_tune.zoo.weights import Array, Weights

MOST_CHOICES = 50
"""Indices in examples are below, so that they are few rows of a table."""

Builder = Callable[[Weights, int, bool], Module]
"""builder(weights, batch, small) -> a module whose `main` is the network."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network of the catalogue.

    Attributes:
        builder: makes it.
        batch: what it is built for unless another is asked.
        sizes: those that only a run knows, with those of examples.
    """

    builder: Builder
    batch: int = 1
    sizes: Mapping[str, int] = field(default_factory=dict)


ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        "resnet18": Architecture(resnet18),
        "resnet50": Architecture(resnet50),
        "mobilenet_v2": Architecture(mobilenet_v2),
        "vgg16": Architecture(vgg16),
        "squeezenet1_1": Architecture(squeezenet1_1),
        "dcgan": Architecture(dcgan),
        "nature_dqn": Architecture(nature_dqn),
        "mlp": Architecture(mlp),
        "mlp_batch64": Architecture(mlp, batch=64),
        "bert_base": Architecture(bert_base),
        "lstm": Architecture(lstm),
        "gru": Architecture(gru),
        "gpt2": Architecture(gpt2, sizes=STEP_SIZES),
        "llama_100m": Architecture(llama_100m, sizes=STEP_SIZES),
    }
)


_HOW_TO_NAME = "Choose one of these, or a file: from_onnx(path), or its path on the command line."


def names() -> tuple[str, ...]:
    """The names of the built-in networks of fixed sizes: functions from tensors to tensors."""
    return tuple(name for name, each in ARCHITECTURES.items() if not each.sizes)


def decoder_names() -> tuple[str, ...]:
    """The names of the built-in language models: steps with caches of any length."""
    return tuple(name for name, each in ARCHITECTURES.items() if each.sizes)


def program_names() -> tuple[str, ...]:
    """The names of the built-in programs: networks with loops, lists and trees."""
    return tuple(PROGRAMS)


def all_names() -> tuple[str, ...]:
    """The names of all networks and programs."""
    return (*ARCHITECTURES, *PROGRAMS)


def build(name: str, *, batch: int | None = None, seed: int = 0, small: bool = False) -> Module:
    """A built-in network or program with random weights.

    Args:
        name: one of `all_names()`.
        batch: the number of samples; None: 1, or what the name says.
        seed: the same seed gives the same weights.
        small: the same structure with few channels, layers and pixels, for quick tests.

    Raises:
        InputError: there is no such network, or `batch` is not positive.
    """
    instance_of(str, name, "The name of a network", _HOW_TO_NAME)
    seed = whole_number(seed, "seed", 0)
    program, architecture = PROGRAMS.get(name), ARCHITECTURES.get(name)
    if batch is not None:
        batch = whole_number(batch, "batch", 1)
    if program is not None:
        return program_module(program, seed, small, 1 if batch is None else batch)
    if architecture is None:
        raise _unknown(name)
    samples = architecture.batch if batch is None else batch
    return architecture.builder(Weights(seed), samples, small)


def example_inputs(network: Module | str, seed: int = 0, *, small: bool = False) -> dict[str, Any]:
    """Seeded random inputs, by name, for a network of the zoo or any module of tensors.

    Floats are normal numbers, integers and bools are 0 or 1 (which suits segments and masks), but
    indices are spread over the first 50 entries of their table. Programs of the zoo
    need inputs of their own, and language models a length, so they are given by name; `small` says
    which form of them is meant.

    Raises InputError where an input is no tensor of known size.
    """
    if isinstance(network, str) and network in PROGRAMS:
        return program_inputs(PROGRAMS[network], seed, small)
    module = build(network, small=small) if isinstance(network, str) else require_module(network)
    sizes = ARCHITECTURES[network].sizes if isinstance(network, str) else {}
    random = np.random.default_rng(whole_number(seed, "seed", 0))
    choices = choices_of_inputs(infer_types(module))
    most = {"input_ids": MOST_CHOICES} | choices
    return {
        var.name: _example(var, sizes, random, min(most.get(var.name, 2), MOST_CHOICES))
        for var in module.main.params
    }


def _example(
    var: Var, sizes: Mapping[str, int], random: np.random.Generator, highest: int
) -> Array:
    """A random array for an input, integers below `highest`."""
    known = known_type(var)
    type_ = known and substitute_symbols(known, sizes)
    if not isinstance(type_, TensorType):
        raise InputError(
            f"The input {var.name!r} is no tensor, so no example of it can be made.",
            remedy="Call the model with a value of your own.",
        )
    shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
    if len(shape) != len(type_.shape):
        raise InputError(
            f"The input {var.name!r} has a size that is not known.",
            remedy=fix_sizes({var.name: type_.shape}),
        )
    if "float" in type_.dtype:
        return random.standard_normal(shape).astype(type_.dtype)
    return random.integers(0, max(highest, 1), shape).astype(type_.dtype)


def _unknown(name: str) -> InputError:
    known = all_names()
    return InputError(
        f"There is no built-in network {name!r}.",
        notes=(f"There are: {', '.join(known)}.",),
        remedy=did_you_mean(name, known, _HOW_TO_NAME),
    )

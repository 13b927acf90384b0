"""Compiled programs without their weights, for those who ask afterwards what a program does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relay_tune.ir.expr import Function, Tuple
from relay_tune.program.instructions import Instruction, LoadConstant, RunKernel, RunRegion
from relay_tune.program.program import Block, FirstOrderFunction, FirstOrderProgram
from relay_tune.program.region import Region

_EMPTY_REGION = Region((), (), (), {})
_EMPTY_DATA = np.empty(0, np.uint8)


def without_weights(program: FirstOrderProgram) -> FirstOrderProgram:
    """The same program, what its kernels compute and its constants left out.

    before:  y = run fn (%x) { nn.dense(%x, meta[Constant][0]) } (x)
    after:   y = run fn () { () } (x)

    A model asks its program for types and for the kinds of its instructions; the weights are in its
    block of constants, packed, and would otherwise be in memory twice.
    """
    functions = {name: _function(each) for name, each in program.functions.items()}
    batches = {
        _empty_primitive(): dict.fromkeys(each, _empty_primitive())
        for each in program.batches.values()
    }
    return replace(program, functions=functions, batches=batches)


def _function(function: FirstOrderFunction) -> FirstOrderFunction:
    return replace(function, blocks=tuple(map(_block, function.blocks)))


def _block(block: Block) -> Block:
    return replace(block, instructions=tuple(map(_instruction, block.instructions)))


def _instruction(instruction: Instruction) -> Instruction:
    match instruction:
        case RunKernel():
            return replace(instruction, primitive=_empty_primitive())
        case RunRegion():
            return replace(instruction, region=_EMPTY_REGION)
        case LoadConstant():
            return replace(instruction, data=_EMPTY_DATA)
    return instruction


def _empty_primitive() -> Function:
    """A primitive like no other: functions are the same only as objects."""
    return Function((), Tuple(()))

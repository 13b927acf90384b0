"""The passes before a module is lowered, and the kernels of what it becomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relay_tune.building.chosen_passes import STANDARD_PASSES, ChosenPasses
from relay_tune.codegen.target import Target, native_target
from relay_tune.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.output_names import is_one_output
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import FuncType, TensorType, TupleType, Type
from relay_tune.program.instructions import DeferKernel, Instruction, RunRegion
from relay_tune.program.kinds import component_types, is_open_type
from relay_tune.program.lower_program import lower_program
from relay_tune.program.program import FirstOrderProgram
from relay_tune.program.region import Region
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.infer import InferTypes
from relay_tune.transform.language.inline_local import InlineLocal
from relay_tune.transform.language.propagate_constants import PropagateConstants
from relay_tune.transform.language.specialize import Specialize
from relay_tune.transform.pipeline import PipelineOptions


def is_network(typed: Module) -> bool:
    """Whether main only calls operators on tensors, so that its memory can be planned.

    It can if all sizes are known as soon as those of the inputs are.
    """
    main = typed.main
    if not all(isinstance(known_type(param), TensorType) for param in main.params):
        return False
    nodes = list(post_order(main.body, enter=lambda node: not isinstance(node, Function)))
    if not _is_flat(typed, main.body.type) or not all(_is_plain(node) for node in nodes):
        return False
    if has_open_inputs(typed):
        return True
    return not any(_is_open(node.type) for node in nodes)


def fused_module(
    typed: Module,
    accuracy: Accuracy = Accuracy.FAST,
    target: Target | None = None,
    passes: ChosenPasses = STANDARD_PASSES,
) -> Module:
    """A typed module after all passes, as it is built for a target, by default the native one."""
    if not is_network(typed) or has_open_inputs(typed):
        return program_module(typed, accuracy, target, passes)
    machine = (native_target() if target is None else target).machine
    pipeline = passes.pipeline_for(PipelineOptions(accuracy=accuracy, machine=machine))
    return passes.require_fused(pipeline(typed))


def has_open_inputs(typed: Module) -> bool:
    """Whether a typed module has inputs whose sizes are known at run time only."""
    return any(_is_open(known_type(param)) for param in typed.main.params)


def kernel_functions(fused: Module) -> list[Function]:
    """The primitive functions of a fused module that run as kernels, each once.

    Raises NoNativeCodeError where the module has no native form.
    """
    return list(dict.fromkeys(program_kernels(lower_program(fused))))


def program_kernels(program: FirstOrderProgram) -> Iterator[Function]:
    """The primitive function of each kernel that a program runs, for joined calls as well."""
    yield from waiting_kernels(program)
    for region in program_regions(program):
        yield from (run.function for run in region.runs)


def waiting_kernels(program: FirstOrderProgram) -> Iterator[Function]:
    """The primitive function of each kernel that waits, or runs for several calls of others."""
    waiting = (each for each in _instructions(program) if isinstance(each, DeferKernel))
    yield from (w.primitive for w in waiting if w.primitive not in program.batches)
    for batches in program.batches.values():
        yield from batches.values()


def program_regions(program: FirstOrderProgram) -> Iterator[Region]:
    """The regions of a program."""
    runs = (each for each in _instructions(program) if isinstance(each, RunRegion))
    return (run.region for run in runs)


def _instructions(program: FirstOrderProgram) -> Iterator[Instruction]:
    for function in program.functions.values():
        for block in function.blocks:
            yield from block.instructions


def program_module(
    typed: Module,
    accuracy: Accuracy = Accuracy.FAST,
    target: Target | None = None,
    passes: ChosenPasses = STANDARD_PASSES,
) -> Module:
    """The fused module of a program, every node typed."""
    machine = (native_target() if target is None else target).machine
    options = PipelineOptions(slice_views=False, accuracy=accuracy, machine=machine)
    chosen = passes.pipeline_for(options)
    before = (Specialize(), InlineLocal(), PropagateConstants())
    pipeline = replace(chosen, passes=(*before, *chosen.passes, InferTypes()))
    return passes.require_fused(pipeline(typed))


def _is_plain(node: Expr) -> bool:
    match node:
        case Call(callee=Function() as function):
            return function.is_primitive
        case Call():
            return isinstance(node.callee, Operator)
        case Function():
            return node.is_primitive
        case _:
            return isinstance(node, Var | Constant | Let | Tuple | TupleGetItem | Operator)


def _is_flat(module: Module, type_: Type | None) -> bool:
    """Whether a result is a tensor, or a tuple of several tensors that are an output each."""
    if isinstance(type_, TupleType) and not is_one_output(module, type_):
        return all(isinstance(field, TensorType) for field in type_.fields)
    return isinstance(type_, TensorType)


def _is_open(type_: Type | None) -> bool:
    """Whether there is a tensor with open sizes in a type."""
    if type_ is None or isinstance(type_, FuncType):
        return False
    return any(is_open_type(part) for part in component_types(type_))

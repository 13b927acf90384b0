"""Processor features that a target needs, and a native function that checks them.

Features have LLVM's names. The function runs before any generated code, and is itself for every
processor of the architecture, so that a library on a machine which it was not made for gives an
error code, not an illegal instruction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import Variable, internal
from relay_tune.codegen.implied_features import implied_features
from relay_tune.codegen.target import Target
from relay_tune.machine.intrinsic import Intrinsic, permissions
from relay_tune.targets.registry import architecture_of

IS_ABLE = internal("i1", "is_able")

_SUPPORTED = internal("i1", "supported")
_ABLE = Variable("able", "i8", "0", 1)


def required_features(target: Target, used: Iterable[Intrinsic]) -> tuple[str, ...]:
    """The features that kernels for a target may use, which have some intrinsics.

    Those that need a permission are required only if kernels have such instructions: LLVM makes no
    other code into them.
    """
    own = architecture_of(target.triple)
    asked = permissions(own.intrinsics)
    candidates = tuple(
        name for name in own.features if not any(permission.covers(name) for permission in asked)
    )
    found = set(implied_features(target.triple, target.cpu, target.features, candidates))
    for intrinsic in used:
        found.update(intrinsic.requirement.features)
    return tuple(sorted(found))


def support_text(name: str, triple: str, features: Collection[str]) -> str:
    """The LLVM function `i1 NAME()`: whether the processor has the features."""
    own = architecture_of(triple)
    return own.check(name, triple, features, permissions(own.intrinsics))


def add_is_able(module: NativeModule, triple: str, features: Collection[str]) -> None:
    """The function `i1 is_able()`: whether the processor has the features, which it is asked once.

    In a virtual machine each answer takes as long as a small network.
    """
    module.variables(_ABLE)
    module.add(support_text(_SUPPORTED.name, triple, features))
    with module.define(IS_ABLE) as code:
        able = code.at(_ABLE)
        code.ret_if(able.load("monotonic").ne(0), True)
        code.ret_if(~code.call(_SUPPORTED), False)
        able.store(1, "monotonic")
        code.ret(True)

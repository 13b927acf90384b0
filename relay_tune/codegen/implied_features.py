"""Which features a processor has that is known by name, as LLVM knows it.

LLVM tells no list, but its inliner refuses to put a function that may use a feature into one that
may not. So for each feature a caller without it calls a function of the processor as it is; where
the call remains, the processor has the feature:

    define internal i32 @whole0(i32 %x) "target-cpu"="haswell" { .. }
    define i32 @less0(i32 %x) "target-cpu"="haswell" "target-features"="-avx2" { call @whole0 }
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import llvmlite.binding as llvm

from relay_tune.codegen.llvm_modules import initialize_llvm, parsed_module, run_passes


@cache
def implied_features(
    triple: str, cpu: str, given: str, candidates: tuple[str, ...]
) -> frozenset[str]:
    """Those of the candidates that code for a processor with given features may use.

    Takes some 40 ms, but nothing where `given` says of each candidate whether it is there.
    """
    said = given.split(",")
    unsaid = [name for name in candidates if f"+{name}" not in said and f"-{name}" not in said]
    found = {name for name in candidates if f"+{name}" in said}
    return frozenset(found | _asked(triple, cpu, given, unsaid) if unsaid else found)


def _asked(triple: str, cpu: str, given: str, candidates: Sequence[str]) -> set[str]:
    """Those of the candidates without which a caller does not take the function over."""
    initialize_llvm()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=given, opt=1)
    lines = [f'target triple = "{triple}"']
    for number, name in enumerate(candidates):
        lines += _pair(number, cpu, given, ",".join(filter(None, (given, f"-{name}"))))
    with parsed_module("\n".join(lines)) as module:
        run_passes(module, machine, 1)
        text = str(module)
    return {name for number, name in enumerate(candidates) if f" @whole{number}(" in text}


def _pair(number: int, cpu: str, given: str, less: str) -> list[str]:
    attributes = f'nounwind "target-cpu"="{cpu}"'
    return [
        f"define internal i32 @whole{number}(i32 %x) {attributes} "
        f'"target-features"="{given}" {{\n  %y = xor i32 %x, {number + 1}\n  ret i32 %y\n}}',
        f"define i32 @less{number}(i32 %x) {attributes} "
        f'"target-features"="{less}" {{\n  %y = call i32 @whole{number}(i32 %x)\n  ret i32 %y\n}}',
    ]

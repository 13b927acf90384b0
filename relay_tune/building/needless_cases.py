"""Cases of sizes with the schedule of the code for all sizes, which serves them, too.

    nn.conv2d(%x, W) of open height and width     up to 40 x 40 pixels: winograd(tile=4, run=24), ..
                                                  all other sizes:      winograd(tile=4, run=24), ..

Both would be the same loops but for what they ask for early. Such a case is known once its schedule
is: before its kernels are written and compiled, which takes most of the time of a build.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from relay_tune.building.primitive import Primitive, PrimitiveCase


def comparable_cases(primitives: Iterable[Primitive]) -> dict[str, str]:
    """For the digest of each case that may be needless, that of the code for all sizes.

    Sizes that leave a case must not be those of another one that is tried later, and nothing but
    the example may tell its code from that for all sizes.
    """
    found: dict[str, str] = {}
    for general in primitives:
        for number, case in enumerate(general.cases):
            later = general.cases[number + 1 :]
            if _differs_by_example(case.primitive, general) and not _meets(case, later):
                found[case.primitive.key.digest] = general.key.digest
    return found


def _differs_by_example(case: Primitive, general: Primitive) -> bool:
    """Whether the code of a case is for any sizes, as that of all others is."""
    one, other = case.example, general.example
    return case.open is not None and one.least == other.least and one.most == other.most


def _meets(case: PrimitiveCase, later: Iterable[PrimitiveCase]) -> bool:
    """Whether some sizes of a case are also those of one of some others."""
    return any(
        all(
            low <= other.bounds[name][1] and other.bounds[name][0] <= high
            for name, (low, high) in case.bounds.items()
            if name in other.bounds
        )
        for other in later
    )


def behind_general(
    primitives: Iterable[Primitive], comparable: Mapping[str, str]
) -> Iterator[Primitive]:
    """The primitives in their order, but cases that may be needless behind what they compare to."""
    passed: set[str] = set()
    waiting: dict[str, list[Primitive]] = defaultdict(list)
    for primitive in primitives:
        digest = primitive.key.digest
        general = comparable.get(digest, digest)
        if general != digest and general not in passed:
            waiting[general].append(primitive)
            continue
        yield primitive
        passed.add(digest)
        yield from waiting.pop(digest, ())


def without_cases(primitive: Primitive, known: Collection[str]) -> Primitive:
    """A primitive without the cases whose digests are not among those that have code."""
    cases = tuple(case for case in primitive.cases if case.primitive.key.digest in known)
    stretched = tuple(
        replace(each, primitive=without_cases(each.primitive, known))
        for each in primitive.stretched
    )
    return replace(primitive, cases=cases, stretched=stretched)

"""What one odd element of an input does to the results of a random network.

The interpreter, which runs operator by operator in numpy, says which results change. With `exact`
the native code must change no others; with `fast` it must not change other samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks.fuzzing.networks import KINDS, random_network
from benchmarks.fuzzing.odd_values import ODD, Array, near_equal, results_of
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.tuning.tuned_build import build

ROUNDING = 1e-4
"""By how much results that do not change in the interpreter may differ, as a share of the largest.

A value may change and the result stay: a maximum of others, a rounded or a saturated one."""

__all__ = ["KINDS", "problems"]


def problems(kind: str, seed: int) -> Iterator[str]:
    """What odd elements change in a network that they must not; nothing if all is right."""
    network = random_network(kind, seed)
    rng = np.random.default_rng([seed, 1])
    feed = dict(next(iter(network.inputs)))
    names = [name for name, array in feed.items() if array.dtype.kind == "f" and array.size]
    module = from_onnx(network.model)
    module = FixInputShapes({name: array.shape for name, array in feed.items()})(module)
    order = [param.name for param in module.main.params]
    accuracy = str(rng.choice(["exact", "fast"]))
    try:
        model = build(module, accuracy=accuracy, threads=int(rng.integers(1, 3)))
    except RelayError as error:
        yield f"not built: {error}"
        return

    def both(values: Mapping[str, Array]) -> tuple[list[Array], list[Array]]:
        arguments = [values[name] for name in order]
        with np.errstate(all="ignore"):
            direct = results_of(interpret(module, *arguments))
        return results_of(model(*arguments)), direct

    before = both(feed)
    for odd in ODD if names else ():
        name = str(rng.choice(names))
        index = tuple(int(rng.integers(size)) for size in feed[name].shape)
        changed = {**feed, name: feed[name].copy()}
        changed[name][index] = odd
        for line in _changes(before, both(changed), accuracy):
            yield f"{accuracy}, {odd} at {index} of {name}: {line}"


def _changes(
    before: tuple[list[Array], list[Array]], after: tuple[list[Array], list[Array]], accuracy: str
) -> Iterator[str]:
    for number, (ours, direct, ours_odd, direct_odd) in enumerate(
        zip(*before, *after, strict=True)
    ):
        stays = near_equal(direct, direct_odd)
        if accuracy == "fast" and stays.ndim:
            stays &= stays.reshape(len(stays), -1).all(1).reshape(-1, *[1] * (stays.ndim - 1))
        finite = np.abs(direct[np.isfinite(direct)]) if direct.dtype.kind == "f" else direct
        bound = ROUNDING * float(finite.max(initial=0))
        with np.errstate(all="ignore"):
            moved = stays & ~near_equal(ours, ours_odd)
            if ours.dtype.kind == "f":
                moved &= ~(np.abs(ours - ours_odd) <= bound)
        if moved.any():
            first = tuple(int(n) for n in np.argwhere(moved)[0])
            yield (
                f"result {number}: {moved.sum()} of {stays.sum()} change that must not, the first "
                f"at {first} from {ours[first]} to {ours_odd[first]}"
            )

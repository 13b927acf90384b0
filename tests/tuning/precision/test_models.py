from __future__ import annotations

import numpy as np
import pytest

from relay_tune.quantization.precisions import BFLOAT16, FLOAT32, INT7, INT8, layers_in
from relay_tune.quantization.prepared import prepared
from relay_tune.transform.quantize.layers import layers_of
from relay_tune.tuning.precision.choice import PrecisionSpace
from relay_tune.tuning.precision.ladder import by_loss_for_time, rung
from relay_tune.tuning.precision.neighbours import neighbours, shares
from relay_tune.tuning.precision.pair_model import Belief, PairModel
from tests.quantization.networks import IMAGES, bound

NAMES = ("a", "b", "c", "d")
PAIRS = (("a", "b"), ("b", "c"), ("c", "d"))


def model(space: PrecisionSpace) -> PairModel:
    return PairModel(space, PAIRS, believed(space, Belief(-0.1, 0.3)), 1.0)


def believed(space: PrecisionSpace, belief: Belief) -> dict[tuple[str, str], Belief]:
    """The same of each layer in each other precision."""
    return {(layer, each): belief for layer, kinds in space.options.items() for each in kinds[1:]}


def test_genomes_stand_for_choices() -> None:
    space = PrecisionSpace({"a": ("float32", "int8", BFLOAT16), "b": ("float32", "int8")})
    genome = space.genome({"a": BFLOAT16})
    assert genome == (2, 0)
    assert space.precisions(genome) == {"a": BFLOAT16, "b": "float32"}
    assert layers_in(space.precisions(genome), BFLOAT16) == ["a"]
    assert space.space().size == 6


def test_the_model_learns_layers_and_pairs() -> None:
    space = PrecisionSpace.of_layers(NAMES, (INT8,))
    own, pair = dict(zip(NAMES, (-0.2, 0.05, -0.1, -0.3), strict=True)), -0.08

    def cost(choice: dict[str, str]) -> float:
        inside = set(layers_in(choice, INT8))
        return 1 + sum(own[n] for n in inside) + pair * (inside >= {"b", "c"})

    every = [space.precisions(space.space().point(n)) for n in range(16)]
    learned = model(space)
    for each in every[:7] + every[8:13]:
        learned.learn(space.genome(each), cost(each), 1e-4)
    predicted, deviations = learned.predict([space.genome(each) for each in every])
    np.testing.assert_allclose(predicted, [cost(each) for each in every], atol=0.01)
    assert (deviations < 0.02).all()
    assert learned.alone("d", INT8) == pytest.approx(-0.3, abs=0.01)


def test_what_is_not_known_is_uncertain() -> None:
    space = PrecisionSpace.of_layers(NAMES, (INT8,))
    learned = model(space)
    choices = [space.genome({name: INT8}) for name in ("a", "d")]
    learned.learn(choices[0], 0.7, 0.01)
    (known, unknown), (sure, unsure) = learned.predict(choices)
    assert known == pytest.approx(0.7, abs=0.01) and unknown == pytest.approx(0.9)
    assert sure < 0.02 and unsure == pytest.approx(0.3)
    assert learned.predict([space.genome({})])[0] == [1.0]


def test_more_precisions_have_coefficients_of_their_own() -> None:
    space = PrecisionSpace({"a": (FLOAT32, INT8, BFLOAT16), "b": (FLOAT32, BFLOAT16)})
    learned = PairModel(space, [("a", "b")], believed(space, Belief(0.0, 0.3)), 1.0)
    learned.learn(space.genome({"a": BFLOAT16}), 0.5, 0.01)
    assert learned.alone("a", BFLOAT16) == pytest.approx(-0.5, abs=0.01)
    assert learned.alone("a", INT8) == 0.0


def test_pairs_share_the_form_of_their_data() -> None:
    space = PrecisionSpace.of_layers(("a", "b"), (INT8, INT7))
    learned = PairModel(space, [("a", "b")], believed(space, Belief(0.0, 0.3)), 1.0)
    for choice in ({"a": INT8}, {"b": INT7}):
        learned.learn(space.genome(choice), 1.0, 1e-3)
    learned.learn(space.genome({"a": INT8, "b": INT7}), 0.8, 1e-3)
    (mixed, other), _ = learned.predict(
        [space.genome({"a": INT8, "b": INT7}), space.genome({"a": INT7, "b": INT7})]
    )
    assert mixed == pytest.approx(0.8, abs=0.01) and other == pytest.approx(0.8, abs=0.01)


def test_the_ladder_leaves_the_first_in_float32() -> None:
    space = PrecisionSpace.of_layers(NAMES, (INT8,))

    def loss(choice: dict[str, str]) -> float:
        return float(len(layers_in(choice, INT8)))

    mixed = rung(space, ["c", "a", "d", "b"], 2.0, loss, FLOAT32, INT8)
    assert layers_in(mixed, FLOAT32) == ["a", "c"]
    assert layers_in(rung(space, NAMES, 4.0, loss, FLOAT32, INT8), INT8) == list(NAMES)
    assert layers_in(rung(space, NAMES, 0.5, loss, FLOAT32, INT8), FLOAT32) == list(NAMES)


def test_layers_that_save_little_for_their_loss_come_first() -> None:
    alone = {"a": 0.1, "b": 0.2, "c": 0.01, "d": 0.1}
    saved = {"a": 0.01, "b": 0.5, "c": -0.1, "d": 0.1}
    assert by_loss_for_time(alone, saved) == ["c", "a", "d", "b"]


def test_neighbours_and_shares_of_a_network() -> None:
    layers = layers_of(prepared(bound(IMAGES)), "uint8")
    names = [each.name for each in layers]
    assert set(neighbours(layers)) >= {("conv2d", "conv2d_2")}
    assert all(names.index(one) < names.index(other) for one, other in neighbours(layers))
    parts = shares(layers)
    assert sum(parts.values()) == pytest.approx(1.0)
    assert parts["conv2d"] == max(parts.values())

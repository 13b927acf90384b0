"""Train a policy to balance a pole on a cart, by the gradient of its rewards.

    python examples/train_policy.py [--rounds 60]

The model has two programs: `main` gives the scores of both actions, `loss` is minimised (REINFORCE,
Williams, 1992). The environment is Python around both.
"""

# The program uses names that Relay knows and Python does not.
# ruff: noqa: F722, F821, UP037

from __future__ import annotations

import argparse

import numpy as np

import relay_tune as rt

CARTS, LIMIT, DISCOUNT = 32, 200, 0.98


@rt.relay_model
class Policy:
    """One hidden layer between the state of a cart and the scores of a push to left and right."""

    hidden: "Tensor[(64, 4), float32]"
    hidden_bias: "Tensor[(64), float32]"
    last: "Tensor[(2, 64), float32]"

    def main(self, states: "Tensor[(n, 4), float32]"):
        return np.tanh(states @ self.hidden.T + self.hidden_bias) @ self.last.T

    def loss(
        self,
        states: "Tensor[(n, 4), float32]",
        chosen: "Tensor[(n, 2), float32]",
        returns: "Tensor[(n), float32]",
    ):
        likelihoods = np.sum(nn.log_softmax(self.main(states), axis=-1) * chosen, axis=1)
        return -np.mean(likelihoods * returns)


def moved(states: np.ndarray, pushes: np.ndarray) -> np.ndarray:
    """The states 0.02 s later (Barto, Sutton and Anderson, 1983, appendix): x, v, angle, spin."""
    x, v, angle, spin = states.T
    force = np.where(pushes == 1, 10.0, -10.0)
    sine, cosine = np.sin(angle), np.cos(angle)
    common = (force + 0.05 * spin**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * common) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    push = common - 0.05 * turn * cosine / 1.1
    changes = np.stack([v, push, spin, turn], axis=1)
    return (states + 0.02 * changes).astype(np.float32)


def main(rounds: int) -> None:
    """Let carts run by the policy, and raise the likelihood of what went well."""
    generator = np.random.default_rng(0)
    model = Policy.random(seed=0)
    act = rt.build(rt.training.with_parameters(model.main.module), threads=1)
    step = rt.training.step(model.loss.module, None, rt.training.Adam(1e-2), threads=1)
    for number in range(rounds):
        states = generator.uniform(-0.05, 0.05, (CARTS, 4)).astype(np.float32)
        stands = np.ones(CARTS, bool)
        seen, chosen, alive = [], [], []
        for _ in range(LIMIT):
            scores = act(states, **step.parameters)
            right = 1 / (1 + np.exp(scores[:, 0] - scores[:, 1]))
            pushes = (generator.random(CARTS) < right).astype(int)
            seen.append(states)
            chosen.append(np.eye(2, dtype=np.float32)[pushes])
            alive.append(stands)
            states = moved(states, pushes)
            stands = stands & (abs(states[:, 0]) < 2.4) & (abs(states[:, 2]) < 0.21)
            if not stands.any():
                break
        lived = np.array(alive, np.float32)
        returns = np.zeros_like(lived)
        after = np.zeros(CARTS, np.float32)
        for time in reversed(range(len(lived))):
            after = lived[time] + DISCOUNT * after * lived[time]
            returns[time] = after
        mask = lived.astype(bool)
        counted = (returns - returns[mask].mean()) / (returns[mask].std() + 1e-6)
        step(np.array(seen)[mask], np.array(chosen)[mask], counted[mask])
        if number % 10 == 0 or number == rounds - 1:
            print(f"round {number:2}: balanced for {lived.sum(axis=0).mean():.0f} of {LIMIT} steps")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=60)
    main(parser.parse_args().rounds)

"""Train a recurrent network to continue text letter by letter, and let it write.

    python examples/train_characters.py [FILE ...] [--steps 600]

Without a file it reads the documentation of this project. The loop over the letters is a loop of
the program, in the training step too; the network that writes is another method of the same model.
"""

# The program uses names that Relay knows and Python does not.
# ruff: noqa: F722, F821, UP037

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import relay_tune as rt

LETTERS = "\n" + "".join(map(chr, range(32, 127)))
COUNT, WIDTH, LENGTH, BATCH = len(LETTERS), 128, 48, 32


@rt.relay_model
class Writer:
    """A gated recurrent unit (Cho et al., 2014) between a table of letters and their scores."""

    table: f"Tensor[({COUNT}, {3 * WIDTH}), float32]"
    state_weight: f"Tensor[({3 * WIDTH}, {WIDTH}), float32]"
    state_bias: f"Tensor[({3 * WIDTH}), float32]"
    head: f"Tensor[({COUNT}, {WIDTH}), float32]"
    head_bias: f"Tensor[({COUNT}), float32]"

    def following(self, letters: "Tensor[(b), int64]", state: f"Tensor[(b, {WIDTH}), float32]"):
        new = np.split(take(self.table, letters, axis=0), 3, axis=1)
        old = np.split(state @ self.state_weight.T + self.state_bias, 3, axis=1)
        update = sigmoid(new[0] + old[0])
        return update * state + (1 - update) * np.tanh(new[2] + sigmoid(new[1] + old[1]) * old[2])

    def scores(self, state: f"Tensor[(b, {WIDTH}), float32]"):
        return state @ self.head.T + self.head_bias

    def main(self, letters: f"Tensor[({LENGTH}, {BATCH}), int64]"):
        """The scores of what follows each letter, [LENGTH * BATCH, COUNT]."""
        state = np.zeros((BATCH, WIDTH), "float32")
        states: f"Tensor[(?, {WIDTH}), float32]" = np.zeros((0, WIDTH), "float32")
        for i in range(LENGTH):
            state = self.following(letters[i], state)
            states = np.concatenate((states, state), axis=0)
        return self.scores(states)

    def write(self, first: "Tensor[(1), int64]", noise: f"Tensor[(n, {COUNT}), float32]"):
        """A letter for each row of noise: where the sum with the scores is largest."""
        state, letter = np.zeros((1, WIDTH), "float32"), first
        written: "Tensor[(?), int64]" = first
        for i in range(len(noise)):
            state = self.following(letter, state)
            letter = np.argmax(self.scores(state) + noise[i], axis=1)
            written = np.concatenate((written, letter), axis=0)
        return written


def text_of(files: list[Path]) -> np.ndarray:
    """The numbers of the letters of all files."""
    number = {letter: n for n, letter in enumerate(LETTERS)}
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return np.array([number[letter] for letter in text if letter in number])


def main(files: list[Path], steps: int) -> None:
    """Train on random pieces of the text, then write."""
    text = text_of(files)
    generator = np.random.default_rng(0)
    model = Writer.random(seed=0)
    rate = rt.training.Cosine(4e-3, steps=steps)
    step = rt.training.step(model.main.module, "cross_entropy", rt.training.Adam(rate), clip=1.0)
    begin = time.perf_counter()
    for number in range(steps):
        places = generator.integers(0, len(text) - LENGTH - 1, BATCH) + np.arange(LENGTH)[:, None]
        loss = step(text[places], text[places + 1].reshape(-1))
        if number % 100 == 0 or number == steps - 1:
            print(f"step {number:4}: {loss / np.log(2):.2f} bits a letter")
    seconds = time.perf_counter() - begin
    print(f"{steps * LENGTH * BATCH / seconds:,.0f} letters a second")

    writer = rt.build(Writer(**step.parameters).write.module)
    # The largest sum with such noise is drawn by its probability; less noise, less surprise.
    noise = 0.5 * generator.gumbel(size=(300, COUNT)).astype(np.float32)
    print("".join(LETTERS[letter] for letter in writer(np.array([LETTERS.index("A")]), noise)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    folder = Path(__file__).resolve().parent.parent
    main(options.files or sorted((folder / "docs").glob("*.md")), options.steps)

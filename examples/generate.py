"""Words from a decoder: its prompt is read at once, then each word is a step over donated caches.

    python examples/generate.py zoo:gpt2 --new 64
    python examples/generate.py decoder.onnx --prompt 5 17 99 --temperature 0.8 --top-k 50 --seed 1

MODEL is zoo:NAME or an ONNX file with the inputs of a decoder: `input_ids`, caches whose names
begin with `past`, perhaps `attention_mask` and `position_ids`; scores are its first output, and the
caches follow in the order of the inputs. Words are numbers. It prints the words, words a second,
and by the weights and caches that steps read, their share of the speed at which this machine reads
memory.
"""

import argparse
import time

import numpy as np

import relay_tune as rt
from relay_tune.ir.traversal import post_order
from relay_tune.op.indexing import take
from relay_tune.runtime.measure_limits import machine_limits


class Generator:
    """A decoder and its caches."""

    def __init__(self, module, threads, room):
        module = rt.infer_types(module)
        self.weight_bytes = _weight_bytes(module)
        self.model = rt.build(module, threads=threads)
        self.inputs = self.model.inputs
        caches = {name: type_ for name, type_ in self.inputs.items() if name.startswith("past")}
        self.caches = {name: _empty(type_) for name, type_ in caches.items()}
        known = {"input_ids", "attention_mask", "position_ids", *self.caches}
        if "input_ids" not in self.inputs or not self.caches or not self.inputs.keys() <= known:
            raise SystemExit(
                f"This is no decoder with caches: its inputs are {', '.join(self.inputs)}."
            )
        self.rooms = dict.fromkeys(self.caches, room)
        self.past = 0

    def scores(self, words):
        """The scores after some words, which join the caches."""
        end = self.past + len(words)
        values = {
            "input_ids": np.array([words]),
            "attention_mask": np.ones((1, end)),
            "position_ids": np.arange(self.past, end)[None],
        }
        typed = {n: v.astype(self.inputs[n].dtype) for n, v in values.items() if n in self.inputs}
        first, *present = self.model.run({**typed, **self.caches}, donate=self.rooms)
        self.caches, self.past = dict(zip(self.caches, present, strict=True)), end
        return first.reshape(-1, first.shape[-1])[-1]

    @property
    def bytes(self):
        """What a step reads: weights and caches."""
        return self.weight_bytes + sum(cache.nbytes for cache in self.caches.values())


def _empty(type_):
    """A cache [batch, heads, words, features] of no words."""
    batch, heads, _, features = type_.shape
    return np.zeros((batch if isinstance(batch, int) else 1, heads, 0, features), type_.dtype)


def _weight_bytes(module):
    """The bytes of all constants, but for tables of which only rows are looked up."""
    constants, readers = {}, {}
    for node in post_order(module.main):
        for argument in getattr(node, "arguments", ()):
            if isinstance(argument, rt.Constant):
                constants[id(argument.data)] = argument.data.nbytes
                readers.setdefault(id(argument.data), set()).add(node.callee)
    return sum(size for key, size in constants.items() if readers[key] != {take})


def choose(scores, options, random):
    """The best word, or one drawn by the scores among the best ones."""
    if options.temperature == 0:
        return int(np.argmax(scores))
    order = np.argsort(scores)[::-1][: options.top_k or None]
    powers = np.exp((scores[order] - scores[order[0]]) / options.temperature)
    shares = powers / powers.sum()
    kept = np.cumsum(shares) - shares < options.top_p
    return int(random.choice(order[kept], p=shares[kept] / shares[kept].sum()))


def read_options():
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--prompt", type=int, nargs="+", default=[1, 2, 3, 4], metavar="WORD")
    parser.add_argument("--new", type=int, default=32, help="how many words are written")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--temperature", type=float, default=0.0, help="0: the best word each time")
    parser.add_argument("--top-k", type=int, default=0, help="draw among so many; 0: all")
    parser.add_argument("--top-p", type=float, default=1.0, help="draw among this share")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--small", action="store_true", help="a small network of the same kind")
    options = parser.parse_args()
    if (
        options.new < 1
        or options.temperature < 0
        or options.top_k < 0
        or not 0 < options.top_p <= 1
    ):
        parser.error("--new is at least 1, --temperature and --top-k at least 0, --top-p in (0, 1]")
    return options


def main():
    """Read the prompt, write words, and print both speeds."""
    options = read_options()
    if options.model.startswith("zoo:"):
        module = rt.zoo.build(options.model.removeprefix("zoo:"), small=options.small)
    else:
        module = rt.from_onnx(options.model)
    generator = Generator(module, options.threads, len(options.prompt) + options.new)
    random = np.random.default_rng(options.seed)
    start = time.perf_counter()
    words = [choose(generator.scores(options.prompt), options, random)]
    middle, moved = time.perf_counter(), 0
    while len(words) < options.new:
        words.append(choose(generator.scores(words[-1:]), options, random))
        moved += generator.bytes
    end = time.perf_counter()
    print("words:", *words)
    print(f"prompt: {len(options.prompt) / (middle - start):.1f} words/s, the first call included")
    if moved:
        memory = machine_limits(options.threads).memory
        rate = moved / (end - middle)
        print(
            f"steps: {(len(words) - 1) / (end - middle):.1f} words/s, {rate / 1e9:.2f} GB/s, "
            f"{rate / memory:.0%} of {memory / 1e9:.1f} GB/s"
        )


if __name__ == "__main__":
    main()

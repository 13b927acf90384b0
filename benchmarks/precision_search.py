"""A searched precision of each layer beside float32, int8 and the greedy choice, at one loss.

    python -m benchmarks.precision_search search FOLDER [NAME ...] [--minutes 3] [--part 0.5]
    python -m benchmarks.precision_search time FOLDER [NAME ...]
    python -m benchmarks.precision_search models FOLDER [NAME ...]

`search` writes the four forms of each network as libraries, with their losses. The bound on the
loss is a part of that of all layers in int8. The greedy choice leaves those layers in float32 that
hurt most, until the loss is within the bound, as `tune quantize --max-loss` does. `time` runs the
libraries in turns, and needs a quiet machine for some seconds only. `models` says how well the
time of builds is predicted that a model has not seen: by layers and pairs, and by boosted trees.

Networks have random weights. Those of every third layer get a channel of larger ones: so layers
differ in what they lose, as those of trained networks do.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import relay_tune as rt
from benchmarks.networks.classifiers import shufflenet
from benchmarks.networks.images import unet
from benchmarks.networks.transformers import vit
from cost_model import CostModel, Row
from logs import open_log
from relay_tune.ir.expr import Constant, Expr
from relay_tune.ir.traversal import rewrite
from relay_tune.op_rules.typed import constant_of
from relay_tune.quantization.precisions import INT8
from relay_tune.quantization.prepared import prepared
from relay_tune.transform.module_pass import with_body
from relay_tune.transform.quantize.layers import layers_of
from relay_tune.tuning.median_interval import median_interval
from relay_tune.tuning.precision.choice import PrecisionSpace
from relay_tune.tuning.precision.logged_trials import FORMAT
from relay_tune.tuning.precision.neighbours import neighbours, shares
from relay_tune.tuning.precision.pair_model import PairModel
from relay_tune.tuning.precision.search import TIME_NOISE, time_beliefs
from relay_tune.tuning.turns import time_in_turns
from relay_tune.zoo import example_inputs

NETWORKS: Mapping[str, Callable[[], rt.Module]] = {
    "squeezenet1_1": partial(rt.zoo.build, "squeezenet1_1"),
    "resnet18": partial(rt.zoo.build, "resnet18"),
    "mobilenet_v2": partial(rt.zoo.build, "mobilenet_v2"),
    "vit": lambda: rt.from_onnx(vit()),
    "unet": lambda: rt.from_onnx(unet()),
    "shufflenet": lambda: rt.from_onnx(shufflenet()),
}

USUAL = ("squeezenet1_1", "resnet18", "mobilenet_v2", "vit")

SAMPLES = 24
FOLDS = 5
TURNS = 15
LARGER = 12.0
"""What weights of one input channel are multiplied by."""


def main() -> None:
    """Search, or time what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("search", "time", "models"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NETWORKS))
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--part", type=float, default=0.5, help="of the loss of int8")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    for name in arguments.names or USUAL:
        folder = arguments.folder / name
        match arguments.action:
            case "search":
                _search(name, folder, arguments)
            case "time":
                print(_timed(name, folder), flush=True)
            case _:
                print(_predicted(name, folder), flush=True)


def _search(name: str, folder: Path, arguments: argparse.Namespace) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    network = _uneven(prepared(NETWORKS[name]()))
    samples = _samples(network)
    common = {"calibration": samples, "method": "minmax", "threads": arguments.threads}
    every = rt.QuantizationReport()
    rt.quantize(network, details=every, **common)
    bound = arguments.part * (every.loss or 0.0)
    report = rt.QuantizationReport()
    searched = rt.quantize(
        network,
        scheme="auto",
        max_loss=bound,
        minutes=arguments.minutes,
        log=folder / "tuning.db",
        details=report,
        report=partial(print, flush=True),
        **common,
    )
    print(f"{name}, loss at most {bound:.4g}\n{report}", flush=True)
    forms = {"float32": network, **report.choices, "searched": searched}
    for form, module in forms.items():
        model = rt.build(module, log=folder / "tuning.db", threads=arguments.threads)
        model.export(folder / f"{form.replace(' ', '_')}.so")
    for input_, array in samples[0].items():
        np.save(folder / f"input_{input_}.npy", array)
    losses = {each.name: each.loss for each in report.compared}
    inside = {each.name: each.integers for each in report.compared}
    about = {"bound": bound, "losses": losses, "integers": inside, "layers": len(report.layers)}
    (folder / "about.json").write_text(json.dumps(about))


def _timed(name: str, folder: Path) -> str:
    about = json.loads((folder / "about.json").read_text())
    files = folder.glob("input_*.npy")
    sample = {file.stem.removeprefix("input_"): np.load(file) for file in files}
    models = {form: rt.load(folder / f"{form.replace(' ', '_')}.so") for form in about["losses"]}
    times = time_in_turns(
        {form: partial(model.run, sample) for form, model in models.items()}, TURNS
    )
    turns = {form: [median(turn) for turn in each] for form, each in times.items()}
    lines = [f"{name}: loss at most {about['bound']:.4g}"]
    for form, own in turns.items():
        pairs = zip(turns["greedy"], own, strict=True)
        gains = [greedy / mine for greedy, mine in pairs]
        low, high = median_interval(gains) or (0.0, 0.0)
        lines.append(
            f"  {form:<18} {1e3 * median(own):8.3f} ms  loss {about['losses'][form]:.4f}  "
            f"{about['integers'][form]:3}/{about['layers']} int8  "
            f"greedy/it {median(gains):.3f} [{low:.3f}, {high:.3f}]"
        )
    return "\n".join(lines)


def _predicted(name: str, folder: Path) -> str:
    """The mean error of predicted ratios over builds that are left out in turn."""
    layers = [each for each in layers_of(prepared(NETWORKS[name]()), "uint8") if not each.reason]
    space = PrecisionSpace.of_layers([each.name for each in layers], (INT8,))
    with open_log(folder / "tuning.db", readonly=True) as log:
        texts = [(each.schedule, each.features) for each in log.history(code_version=FORMAT)]
    ratios_of = {
        space.genome(json.loads(text)["precisions"]): float(json.loads(numbers)[0])
        for text, numbers in texts
    }
    rows = list(ratios_of.items())
    beliefs = time_beliefs(shares(layers), space)
    errors: dict[str, list[float]] = {"layers and pairs": [], "trees": []}
    for fold in range(FOLDS):
        left, known = rows[fold::FOLDS], [r for n, r in enumerate(rows) if n % FOLDS != fold]
        pairs = PairModel(space, neighbours(layers), beliefs, 1.0)
        trees = CostModel(seed=0)
        for genome, ratio in known:
            pairs.learn(genome, ratio, TIME_NOISE)
        trees.update([Row(name, genome, 1.0 / ratio) for genome, ratio in known])
        genomes, ratios = [g for g, _ in left], np.array([r for _, r in left])
        scores = trees.predict(genomes) - trees.predict([g for g, _ in known]).mean()
        by_trees = np.exp(-scores) * np.exp(np.mean([np.log(r) for _, r in known]))
        errors["layers and pairs"] += list(np.abs(pairs.predict(genomes)[0] - ratios))
        errors["trees"] += list(np.abs(by_trees - ratios))
    text = ", ".join(f"{model} {np.mean(each):.4f}" for model, each in errors.items())
    return f"{name}: mean error of the ratio of {len(rows)} builds: {text}"


def _uneven(network: rt.Module) -> rt.Module:
    """A network of which every third layer has weights of different sizes."""
    larger: dict[int, Expr] = {}
    for layer in layers_of(network, "uint8")[::3]:
        axis = layer.calls[0].input_axis
        if axis is not None and layer.weight.data.shape[axis] > 1:
            weight = layer.weight.data.copy()
            np.moveaxis(weight, axis, 0)[0] *= LARGER
            larger[id(layer.weight.data)] = constant_of(weight)

    def visit(node: Expr) -> Expr:
        return larger.get(id(node.data), node) if isinstance(node, Constant) else node

    main = network.main
    return network.with_function("main", with_body(main, rewrite(main.body, visit)))


def _samples(network: rt.Module) -> list[dict[str, np.ndarray]]:
    """Seeded inputs: smooth images of different contrast, as real ones are, or what fits."""
    found = []
    for seed in range(SAMPLES):
        random = np.random.default_rng(seed)
        sample = dict(example_inputs(network, seed))
        for name, array in sample.items():
            if array.dtype == np.float32:
                contrast = random.uniform(0.5, 1.5)
                sample[name] = (contrast * array + random.normal(0, 0.3)).astype(np.float32)
        found.append(sample)
    return found


if __name__ == "__main__":
    main()

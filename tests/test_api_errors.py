"""What users of the Python API give by mistake: one RelayError that says what and what to do."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from pathlib import Path

import numpy as np
import pytest

import relay_tune as rt

TEXT = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""
X, W = np.ones((4, 8), np.float32), np.ones((16, 8), np.float32)
MODULE = rt.parse(TEXT)
MODEL = rt.to_onnx(rt.infer_types(MODULE))
SCALAR = rt.parse("def @main(%n: int32) { %n + 1 }")


def takes(type_: object) -> rt.Module:
    """A program that gives back its one input of a type."""
    x = rt.Var("x", type_)  # type: ignore[arg-type]
    return rt.Module.from_function(rt.Function((x,), x))


def gives(body: object) -> rt.Module:
    """A program without inputs."""
    return rt.Module.from_function(rt.Function((), body))  # type: ignore[arg-type]


CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "missing file": (lambda: rt.from_onnx("missing.onnx"), "missing.onnx cannot be read"),
    "folder": (lambda: rt.from_onnx("folder"), "folder cannot be read: Is a directory"),
    "no model": (lambda: rt.from_onnx(3), "cannot be read from a value of type int"),  # type: ignore[arg-type]
    "no bytes": (lambda: rt.from_onnx(b""), "The given value holds no graph"),
    "bytes of text": (lambda: rt.parse(b"def"), "of type bytes was given"),  # type: ignore[arg-type]
    "path to build": (lambda: rt.build("m.onnx"), "Module is needed"),  # type: ignore[arg-type]
    "log missing": (lambda: rt.build(MODULE, log="no.db"), "no.db: There is no such log"),
    "log is text": (lambda: rt.build(MODULE, log="text.db"), "text.db: The file is not a tuning"),
    "no threads": (lambda: rt.build(MODULE, threads=0), "threads is 0, but must be a whole"),
    "many threads": (lambda: rt.build(MODULE, threads=10**6), "from 1 to 256"),
    "target": (lambda: rt.build(MODULE, target="vax"), "The target 'vax' is not known"),
    "minutes": (lambda: rt.tune(MODULE, minutes=-1), "minutes is -1"),
    "no minutes": (lambda: rt.tune(MODULE, minutes=nan), "minutes is nan"),
    "trials": (lambda: rt.tune(MODULE, trials=1.5), "trials is 1.5"),  # type: ignore[arg-type]
    "seed": (lambda: rt.tune(MODULE, seed=-1), "seed is -1, but must be a whole number from 0"),
    "accuracy": (lambda: rt.tune(MODULE, accuracy="none"), "There is no accuracy 'none'"),
    "log is folder": (lambda: rt.tune(MODULE, log="folder"), "folder: The log is a folder"),
    "shape": (lambda: rt.interpret(MODULE, X[:3], W), r"'x' must be Tensor\[\(4, 8\), float32\]"),
    "dtype": (lambda: rt.build(MODULE)(X.astype(int), W), r"x.astype\(\"float32\"\)"),
    "missing input": (lambda: rt.build(MODULE)(X), "No value was given for: w"),
    "wrong name": (lambda: rt.build(MODULE)(x=X, y=W), "no input 'y'"),
    "export to folder": (lambda: rt.build(MODULE).export("folder"), "folder cannot be written"),
    "export to text": (lambda: rt.build(MODULE).export("m.h"), "m.h is no name for a library"),
    "load text": (lambda: rt.load("text.db"), "no library that can be loaded"),
    "no log to tune into": (lambda: rt.tune(MODULE, log=None), "log must be a path.*NoneType"),  # type: ignore[arg-type]
    "log of another type": (lambda: rt.build(MODULE, log=3), "log must be a path.*int"),  # type: ignore[arg-type]
    "log without a name": (lambda: rt.build(MODULE, log=""), "log is '', which no file"),
    "progress": (lambda: rt.tune(MODULE, progress=3), "progress must be a function"),  # type: ignore[arg-type]
    "report": (lambda: rt.build(MODULE, report=3), "report must be a function"),  # type: ignore[arg-type]
    "target of another type": (lambda: rt.build(MODULE, target=3), "target must be a str"),  # type: ignore[arg-type]
    "export nowhere": (lambda: rt.build(MODULE).export(None), "library must be a path.*NoneType"),  # type: ignore[arg-type]
    "export to a zero": (lambda: rt.build(MODULE).export("a\0b.so"), "which no file can be called"),
    "load None": (lambda: rt.load(None), "library must be a path.*NoneType"),  # type: ignore[arg-type]
    "load bytes": (lambda: rt.load(b"m.so"), "library must be a path.*bytes"),  # type: ignore[arg-type]
    "same elements": (lambda: rt.build(MODULE)(X.T, W), r"x.reshape\(\(4, 8\)\)"),
    "other shape": (lambda: rt.build(MODULE)(X[:3], W), r"shape \(4, 8\), or make the model for"),
    "part of a number": (lambda: rt.build(SCALAR)(1.5), "'n' is 1.5, which is no int32"),
    "no number": (lambda: rt.build(SCALAR)(nan), "'n' is nan, which is no int32"),
    "large number": (
        lambda: rt.interpret(SCALAR, 2**40),
        "1099511627776, which is no int32",
    ),
    "inputs in a list": (
        lambda: rt.build(MODULE).run([X, W]),
        "inputs must be a dict",
    ),  # type: ignore[arg-type]
    "repeat": (
        lambda: rt.build(MODULE).benchmark(X, W, repeat=0),
        "repeat is 0",
    ),
    "warmup": (lambda: rt.build(MODULE).benchmark(X, W, warmup=None), "warmup is None"),  # type: ignore[arg-type]
    "limits": (lambda: rt.build(MODULE).profile(X, W, limits=3), "limits must be a MachineLimits"),  # type: ignore[union-attr,arg-type]
    "to_onnx": (lambda: rt.to_onnx("m.relay"), "Module is needed here.*str"),  # type: ignore[arg-type]
    "to_json": (lambda: rt.to_json(None), "Module is needed here.*NoneType"),  # type: ignore[arg-type]
    "from_json": (lambda: rt.from_json({}), "JSON text must be a str"),  # type: ignore[arg-type]
    "interpret": (lambda: rt.interpret("m", X), "Module is needed here.*str"),  # type: ignore[arg-type]
    "parse_expr": (lambda: rt.parse_expr(3), "Relay text must be a str"),  # type: ignore[arg-type]
    "infer_expr": (lambda: rt.infer_expr("1"), "expression must be a Expr"),  # type: ignore[arg-type]
    "with_prelude": (lambda: rt.with_prelude(None), "Module is needed here"),  # type: ignore[arg-type]
    "prelude": (lambda: rt.prelude(["map"]), "name of a definition must be a str"),  # type: ignore[arg-type]
    "constructor": (lambda: rt.data_value(MODULE, 3), "name of a constructor must be a str"),  # type: ignore[arg-type]
    "list": (lambda: rt.list_value(3), "items of a list must be a sequence"),  # type: ignore[arg-type]
    "pipeline": (lambda: rt.default_pipeline(3), "must be a PipelineOptions"),  # type: ignore[arg-type]
    "constant": (lambda: rt.constant("x"), "'x' is no constant of type float32"),  # type: ignore[arg-type]
    "relay_model": (lambda: rt.relay_model(3), "relay_model decorates must be a type"),  # type: ignore[call-overload]
    "unknown network": (lambda: rt.zoo.build("resnet19"), "Did you mean resnet18"),
    "unlike any network": (lambda: rt.zoo.build("?"), "Choose one of these, or a file"),
    "network of another type": (lambda: rt.zoo.build(None), "name of a network must be a str"),  # type: ignore[arg-type]
    "batch": (lambda: rt.zoo.build("mlp", batch=0), "batch is 0"),
    "seed of weights": (lambda: rt.zoo.build("mlp", seed=-1), "seed is -1"),
    "seed of inputs": (lambda: rt.zoo.example_inputs("mlp", seed="x"), "seed is 'x'"),  # type: ignore[arg-type]
    "shapes": (lambda: rt.from_onnx(MODEL, shapes=3), "shapes must be a dict"),  # type: ignore[arg-type]
    "shape of an input": (lambda: rt.from_onnx(MODEL, shapes={"x": 3}), "must be a tuple of whole"),  # type: ignore[dict-item]
    "constants": (lambda: rt.from_onnx(MODEL, constants=[X]), "constants must be a dict"),  # type: ignore[arg-type]
    "value of an input": (
        lambda: rt.from_onnx(MODEL, constants={"x": W.astype(int)}),
        "is int64, but must be float32",
    ),
    "name": (lambda: rt.from_onnx(MODEL, name=None), "name of the function must be a str"),  # type: ignore[arg-type]
    "no array": (lambda: rt.build(MODULE)("x", W), "'x' must be Tensor.*(\n.*)*array of numbers"),
    "element type": (
        lambda: rt.build(takes(rt.TensorType((1,), "float33"))),
        "no element type 'float33'",
    ),
    "size": (lambda: rt.build(takes(rt.TensorType((-1,), "float32"))), r"the shape \(-1,\)"),
    "shape of a type": (lambda: rt.build(takes(rt.TensorType(3, "int8"))), "the shape 3"),  # type: ignore[arg-type]
    "type as text": (lambda: rt.infer_types(takes("int32")), "str stands where a type is needed"),
    "number for an expression": (lambda: rt.infer_types(gives(3)), "Write numbers and arrays as"),
    "numbers in an if": (
        lambda: rt.infer_types(gives(rt.If(rt.constant(True), 2, 3))),  # type: ignore[arg-type]
        "int stands where an expression",
    ),
    "functions of a module": (lambda: rt.Module(3), "holds functions by name.*int was given"),  # type: ignore[arg-type]
    "function of a module": (lambda: rt.Module({"main": 3}), "holds functions by name"),  # type: ignore[dict-item]
    "relay": (lambda: rt.relay(3), "What relay decorates must be a function"),  # type: ignore[call-overload]
    "load nothing": (lambda: rt.load("missing.so"), "missing.so cannot be read"),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_clear_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("this is no tuning log\n")
    monkeypatch.chdir(tmp_path)
    call, message = CALLS[name]
    with pytest.raises(rt.RelayError, match=message) as error:
        call()
    assert error.value.remedy
    left = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in left if not name.startswith("tuning.db")] == ["folder", "text.db"]

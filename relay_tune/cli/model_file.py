"""MODEL on the command line: a file of some kind, or a built-in network."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from onnx import GraphProto

from relay_tune import zoo
from relay_tune.arguments import require_regular
from relay_tune.cli.options import Values, constants_of, shapes_of
from relay_tune.errors import InputError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.frontend.onnx_import.given_constants import GivenValue, given_constants
from relay_tune.frontend.onnx_import.json_text import model_of_json
from relay_tune.frontend.onnx_import.model import CHECK_PATH, read_model
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.json_form import from_json, read_document
from relay_tune.ir.module import Module

ZOO = "zoo:"

_KINDS = f"Give a .onnx, .relay or .json file, or {ZOO}NAME for a built-in network."

Shapes = Mapping[str, tuple[int, ...]]
Constants = Mapping[str, Values]


def load_argument(arguments: argparse.Namespace) -> Module:
    """The module of MODEL with its --shape and --constant; raises what `load_model` raises."""
    return load_model(arguments.model, shapes_of(arguments), constants_of(arguments))


def constant_inputs(arguments: argparse.Namespace) -> dict[str, GivenValue]:
    """The values of --constant as arrays, of the types that the file declares."""
    graph, constants = onnx_graph(arguments.model), constants_of(arguments)
    if graph is None or not constants:
        return {}
    return given_constants(graph, {each.name: each for each in graph.initializer}, constants)


def load_model(
    name: str, shapes: Shapes | None = None, constants: Constants | None = None
) -> Module:
    """The module that `name` stands for.

    `shapes` gives sizes, and `constants` values, to inputs of ONNX models.

    Raises InputError for a file that cannot be read or a kind that is not known, and what the
    importers raise.
    """
    if name.startswith(ZOO):
        _refuse_options(shapes, constants, "A built-in network")
        return zoo.build(name.removeprefix(ZOO))
    path = Path(name)
    if name and path.is_dir():
        raise InputError(f"{name} is a folder, not a model.", remedy=_KINDS)
    match path.suffix.lower():
        case ".onnx":
            return from_onnx(path, shapes=shapes, constants=constants)
        case ".json":
            text = read_text(path)
            if read_document(text) is not None:
                _refuse_options(shapes, constants, "A module in JSON")
                return from_json(text, str(path))
            return from_onnx(model_of_json(text, name), shapes=shapes, constants=constants)
        case ".relay":
            _refuse_options(shapes, constants, "Relay text")
            return parse(read_text(path), str(path))
        case ".so":
            raise InputError(
                f"{name} is a library, not a model.",
                remedy=f"Give the model that it was built from: tune bench MODEL --library {name} "
                "times it. In Python, rt.load calls it.",
            )
    raise InputError(
        f"{name!r} is no model that can be read.",
        notes=(f"The built-in ones are: {', '.join(zoo.all_names())}.",),
        remedy=_KINDS,
    )


def onnx_graph(name: str) -> GraphProto | None:
    """The graph of an ONNX model, None for MODELs of other kinds; raises what reading it raises."""
    path = Path(name)
    if name.startswith(ZOO) or path.suffix.lower() not in (".onnx", ".json"):
        return None
    if path.suffix.lower() == ".onnx":
        return read_model(path).graph
    text = read_text(path)
    return None if read_document(text) is not None else model_of_json(text, name).graph


def stem(name: str) -> str:
    """The name of the model without folder and ending, for files that belong to it."""
    return name.removeprefix(ZOO) if name.startswith(ZOO) else Path(name).stem


def read_text(path: Path) -> str:
    """The content of a text file; raises InputError if it cannot be read."""
    require_regular(path)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"The file {path} cannot be read: {error.strerror}.", remedy=CHECK_PATH
        ) from error
    except ValueError as error:  # bytes that are not UTF-8, or a path with a null character
        raise InputError(
            f"The file {path} is no text: {error}.", remedy="Give a file with UTF-8 text."
        ) from error


def _refuse_options(shapes: Shapes | None, constants: Constants | None, what: str) -> None:
    if constants:
        raise InputError(
            f"{what} takes no values for its inputs; --constant is for ONNX models.",
            remedy="Omit --constant, and write the value into the text.",
        )
    if shapes:
        raise InputError(
            f"{what} states its shapes itself; --shape fixes sizes of ONNX models.",
            remedy="Omit --shape, write the sizes into the types of the text, or name ranges "
            "(x=1..64,256) to choose kernels for.",
        )

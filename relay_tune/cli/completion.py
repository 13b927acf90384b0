"""The verb `completion`, and what a shell gets when it asks for completions."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module

import argcomplete
from argcomplete.completers import FilesCompleter
from argcomplete.shell_integration import shellcode

COMMAND = "tune"
MODEL_FILES = FilesCompleter(("onnx", "relay", "json"))
ZOO = "zoo:"


def run(arguments: argparse.Namespace) -> int:
    """Print the code for a shell."""
    print(shellcode([COMMAND], shell=arguments.shell))
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell that asks, and leave; return where none does."""
    for action in _actions(parser):
        match action.dest:
            case "model":
                action.completer = complete_model  # type: ignore[attr-defined]  # argcomplete's
            case "after":
                action.completer = complete_pass  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False)


def complete_model(prefix: str, **_: object) -> list[str]:
    """Files of models, and the built-in networks."""
    if prefix.startswith(ZOO):
        zoo = import_module("relay_tune.zoo")
        return [ZOO + name for name in zoo.all_names()]
    return [*MODEL_FILES(prefix), *([ZOO] if ZOO.startswith(prefix) else [])]


def complete_pass(prefix: str, **_: object) -> list[str]:
    """The passes of the pipeline."""
    passes = import_module("relay_tune.transform.catalogue").STANDARD
    return [name for name in passes if name.startswith(prefix)]


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of those below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in dict.fromkeys(action.choices.values()):
                yield from _actions(below)

"""Programs in words, for the prompt and for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from relay_tune.ir.types import Type
from relay_tune.typing.type_text import type_text


def counted(count: int, noun: str) -> str:
    """A number of things, such as `1 thread` or `2 threads`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def executable_text(
    kind: str, inputs: Mapping[str, Type], outputs: Mapping[str, Type], threads: int | None = None
) -> str:
    """A line such as `Model(x: Tensor[(4, 8), float32]) -> y: Tensor[(4), float32], 2 threads`."""
    return f"{kind}({_named(inputs)}) -> {_named(outputs)}{_threads_text(threads)}"


def _named(types: Mapping[str, Type]) -> str:
    return ", ".join(f"{name}: {type_text(type_)}" for name, type_ in types.items())


def executable_html(
    kind: str, inputs: Mapping[str, Type], outputs: Mapping[str, Type], threads: int | None = None
) -> str:
    """A table of inputs and outputs."""
    rows = [
        f"<tr><td>{what}</td><td>{escape(name)}</td><td>{escape(type_text(type_))}</td></tr>"
        for what, types in (("input", inputs), ("output", outputs))
        for name, type_ in types.items()
    ]
    title = f"<b>{escape(kind)}</b>{_threads_text(threads)}"
    return f"<div>{title}<table>{''.join(rows)}</table></div>"


def _threads_text(threads: int | None) -> str:
    if threads is None:
        return ""
    return f", {counted(threads, 'thread')}"

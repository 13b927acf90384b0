"""Checks in processes of their own: a crash or a hang costs one check only."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import ParamSpec

Arguments = ParamSpec("Arguments")


def run_apart(
    timeout: float,
    check: Callable[Arguments, Iterable[str]],
    *args: Arguments.args,
    **kwargs: Arguments.kwargs,
) -> list[str]:
    """The lines that `check` gives in a process of its own, `timeout` seconds at most.

    A process that dies or takes longer is a line as well. `check` is found by its name, so it must
    be a function of a module.
    """
    channel, other = multiprocessing.get_context("spawn").Pipe()
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_run, args=(other, check, args, kwargs))
    process.start()
    other.close()
    try:
        return list(channel.recv()) if channel.poll(timeout) else [f"more than {timeout} s"]
    except EOFError:
        return ["the process died"]
    finally:
        process.kill()
        process.join()


def _run(
    channel: Connection,
    check: Callable[..., Iterable[str]],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> None:
    channel.send(list(check(*args, **kwargs)))

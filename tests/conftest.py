"""What holds for all tests."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from importlib import import_module

import pytest
from hypothesis import settings

from relay_tune.building import workers
from relay_tune.cli.left_out import unused_left_out
from relay_tune.codegen import compiler
from relay_tune.remembered import results_for_one_build
from tests.kept_objects import KeptObjects, drop_old_objects

OBJECTS = "objects"
"""What their folder is called in pytest's own cache."""

MANY_OBJECTS = 100_000
"""New ones, which are worth a search for garbage: it takes a microsecond for each."""

settings.register_profile("same examples", derandomize=True)
settings.load_profile("same examples")  # a run says the same as the one before; campaigns search on

gc.disable()  # while tests are collected: all that is made then stays

with unused_left_out():  # each process of a run imports it
    import_module("xgboost")


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over modules and tests: they live until the end.

    It runs less often than by default. Most of what a build makes dies without it, and each run
    searches what is still in use.
    """
    gc.freeze()
    gc.set_threshold(1_000_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Have the builds of a test share what they find; now and then look for the garbage of several.

    Tests build a program for other threads, limits or optimisers, and plan the same kernels for
    each. What is remembered is dropped with the test: it would be searched, and kept, in vain.
    Tests that are marked `builds_apart` build as users do.
    """
    is_apart = item.get_closest_marker("builds_apart") is not None
    with nullcontext() if is_apart else results_for_one_build():
        answer = yield
    if nextitem is None or nextitem.path != item.path:
        _look_for_garbage()
    return answer


def _look_for_garbage() -> None:
    """Between two files; a test that collects garbage then looks at the objects of a few."""
    with results_for_one_build():
        pass  # drops what tests remembered that build apart
    if gc.get_count()[0] > MANY_OBJECTS:
        gc.collect(1)
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is kept from process to process is kept among those of the tests, not in a home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _interrupts_arrive() -> Iterator[None]:
    """Ctrl-C is heard, by child processes too, where a shell has started the tests as a job behind.

    Such a job ignores it, and so would all that it starts.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _builds_start_no_processes() -> Iterator[None]:
    """Builds in this process are for one processor: other tests run on the others meanwhile.

    A process takes .3 s to start. Tests of what they do say that there are two processors; commands
    that tests start have all of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "available_processors", lambda: 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def _objects_are_kept(pytestconfig: pytest.Config) -> Iterator[None]:
    """What LLVM makes of a text is kept for the next run, and for the other processes of this one.

    Processes that tests start ask LLVM.
    """
    cache = getattr(pytestconfig, "cache", None)
    if cache is None:
        yield
        return
    folder = cache.mkdir(OBJECTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "_compiled", KeptObjects(folder, compiler._compiled))
        yield


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove objects that no test has asked for lately, once all processes have ended."""
    cache = getattr(session.config, "cache", None)
    if cache is not None and not hasattr(session.config, "workerinput"):
        drop_old_objects(cache.mkdir(OBJECTS))

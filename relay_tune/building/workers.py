"""The worker processes of a build, which choose schedules and compile kernels."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from queue import SimpleQueue

from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.plain_data import encoded
from relay_tune.building.worker import CHOOSE, COMPILE, NO_MACHINE
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.known_objects import KERNELS
from relay_tune.codegen.programs.session_object import object_functions, session_object
from relay_tune.codegen.target import Target
from relay_tune.codegen.worker_pool import WorkerPool
from relay_tune.codegen.worker_process import start_worker
from relay_tune.runtime.threads import available_processors
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.system_limits import told_limits


class BuildWorkers:
    """Processes for all processors but that of the build itself; each starts with a request.

    At the end they are killed: nobody wants what they may still do.

    with BuildWorkers(target, defaults) as workers:
        schedule = workers.choose(program).result()
    """

    def __init__(self, target: Target, defaults: DefaultSchedules | None) -> None:
        machine = None if defaults is None else encoded(defaults.machine)
        self.count = available_processors() - 1
        self.can_choose = machine is not None and self.count > 0
        self.are_started = False
        self._arguments = [
            json.dumps(asdict(target)),
            NO_MACHINE if machine is None else machine,
            str(1 if defaults is None else defaults.threads),
            str(Accuracy.FAST if defaults is None else defaults.accuracy),
        ]
        self._pool = WorkerPool(self._process, self.count)

    def __enter__(self) -> BuildWorkers:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._pool.abort()
        self._pool.__exit__(kind, error, trace)

    def start(self) -> None:
        """Start a process before there is a request, so that it is ready for the first one."""
        self.are_started = True
        self._pool.start()

    def choose(self, program: str) -> Future[bytes]:
        """The default schedule, as JSON, of a program as JSON; BuildError where there is none."""
        self.are_started = True
        return self._pool.submit(CHOOSE + program.encode())

    def compile(self, text: str) -> bytes:
        """The object file of an LLVM module; raises BuildError if LLVM rejects it."""
        self.are_started = True
        return self._pool.submit(COMPILE + text.encode()).result()

    def _process(self) -> subprocess.Popen[bytes]:
        return start_worker("relay_tune.building.worker", self._arguments)


class Compiling:
    """Compiles texts while Python writes the next ones: here, and by workers once these pay.

    with Compiling(target, workers) as compiling:
        objects = [future.result() for future in [compiling.submit(text) for text in texts]]
    """

    def __init__(self, target: Target, workers: BuildWorkers) -> None:
        self.workers = workers
        self._target = target
        self._threads = ThreadPoolExecutor(1 + workers.count)
        self._idle: SimpleQueue[Callable[[str], bytes]] = SimpleQueue()
        self._idle.put(lambda text: compile_text(text, target))
        self._is_shared = False
        self._sessions: Future[bytes] | None = None

    def __enter__(self) -> Compiling:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._threads.shutdown(wait=error is None, cancel_futures=error is not None)

    def share(self) -> None:
        """Have the workers compile, too."""
        if not self._is_shared:
            self._is_shared = True
            for _ in range(self.workers.count):
                self._idle.put(self.workers.compile)

    def submit(self, text: str) -> Future[bytes]:
        """The object file of an LLVM module, some time later; BuildError if LLVM rejects it."""
        with told_limits():
            return self._threads.submit(self._compiled, text)

    def start_sessions(self) -> None:
        """Begin with what all programs have in common: a core is idle while passes run."""
        if self._sessions is None:
            with told_limits():
                self._sessions = self._threads.submit(session_object, self._target)

    def sessions(self, has_objects: bool) -> list[Future[bytes]]:
        """The object files of functions that programs have in common.

        `has_objects`: with those of objects that are no tensors.
        """
        self.start_sessions()
        assert self._sessions is not None
        if not has_objects:
            return [self._sessions]
        with told_limits():
            return [self._sessions, self._threads.submit(object_functions, self._target)]

    def _compiled(self, text: str) -> bytes:
        compile_ = self._idle.get()
        try:
            return KERNELS.object_of(text, self._target, compile_)
        finally:
            self._idle.put(compile_)

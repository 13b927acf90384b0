"""The command `tune`: finds the verb, and turns failures into one message and an exit code.

Exit codes: 0 all went well, 1 the work failed, 2 the command line is wrong, 130 interrupted,
143 terminated.
What verbs take is in `parsers`, which import nothing heavy; the module of a verb is imported when
the verb is used. So help and completion need no compiler.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import NoReturn

from relay_tune import __version__
from relay_tune.cli.address_space import require_address_space
from relay_tune.cli.exit_codes import FAILED, INTERRUPTED, TERMINATED, WRONG_USAGE
from relay_tune.cli.left_out import unused_left_out
from relay_tune.cli.started import begin
from relay_tune.ending_signals import ending_signals
from relay_tune.errors import RelayError
from relay_tune.own_packages import check_own_packages
from relay_tune.system_limits import limit_error

VERBS = {
    "run": "tune a model on this machine and build it: the main job",
    "quantize": "make a network of integers from a float one and samples",
    "build": "build a model with the best schedules that a log knows",
    "bench": "compare the untuned, the tuned, and another runtime",
    "profile": "show where the time of a model goes",
    "show": "print a model as Relay text, also after a pass",
    "check": "say whether a model is supported, and what is missing",
    "fit": "fit the coefficients of the estimate to what a log has measured",
    "log": "list, join, export, import and examine tuning logs",
    "report": "write one HTML page about a tuning log",
    "completion": "print what makes a shell complete the command",
}


COMPLETION_WANTED = "_ARGCOMPLETE"
"""The variable that a shell sets when it asks for completions."""

REFERENCE_THREADS = "1"
"""Of numpy's products. Answers of references are computed beside compilers, and on busy machines:
threads that wait for each other spin there, and took ten times the processor time of one."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors say what to do."""

    def error(self, message: str) -> NoReturn:
        """Print the usage, what is wrong and the way out, and leave."""
        self.print_usage(sys.stderr)
        way_out = f"  help: {self.prog} --help shows what it takes, with an example.\n"
        self.exit(WRONG_USAGE, f"{self.prog}: error: {message}\n{way_out}")


def main(words: Sequence[str] | None = None) -> int:
    """Run `tune` with these words (by default those of the command line); the exit code."""
    if words is not None:
        begin()
    _open_closed_streams()
    _escape_what_has_no_code()
    if words is None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", REFERENCE_THREADS)  # before numpy comes
    with ending_signals(pass_on=False) as ending:
        code = _run(sys.argv[1:] if words is None else list(words), is_alone=words is None)
        if ending.has_begun and words is None:  # the interpreter is about to end: no Ctrl-C between
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return TERMINATED if ending.terminated and code == INTERRUPTED else code


def _run(given: Sequence[str], *, is_alone: bool) -> int:
    """The exit code of a command; whatever ends it is told in one message.

    `is_alone`: whether the process is there for the command.
    """
    try:
        check_own_packages()
        require_address_space()
        parser = command_parser()
        if COMPLETION_WANTED in os.environ:
            import_module("relay_tune.cli.completion").complete(parser)
        arguments, unknown = parser.parse_known_args(given)
        if unknown:
            arguments.refuse(f"unrecognized arguments: {' '.join(unknown)}")
        with unused_left_out() if is_alone else nullcontext():
            verb = import_module(f"relay_tune.cli.{arguments.verb}")
        code: int = verb.run(arguments)
        sys.stdout.flush()
        return code
    except RelayError as error:
        return _failed(error.render())
    except BrokenPipeError:  # the reader of our output has seen enough, as in `tune show | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        told = limit_error(error)
        if told is not None:
            return _failed(told.render())
        where = "the output cannot be written" if error.filename is None else error.filename
        return _failed(f"{where}: {error.strerror or error}")
    except MemoryError:
        return _failed("The memory of this machine is not enough for this.")
    except KeyboardInterrupt:
        print("tune: interrupted", file=sys.stderr)
        return INTERRUPTED


def _open_closed_streams() -> None:
    """Give a process that was started without them (`tune check m.onnx >&-`) streams to nowhere."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (as long as the process)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (as long as the process)


def _escape_what_has_no_code() -> None:
    """Print names that the encoding of a stream cannot say as escapes, as in `gr\\xf6\\xdfe`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def command_parser() -> argparse.ArgumentParser:
    """The parser of all verbs and their options."""
    parser = _Parser(
        prog="tune",
        description="Tune deep-learning models on the machine they run on.",
        epilog="example: tune run zoo:resnet18 --minutes 5\nhelp on a verb: tune run --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tune {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, summary in VERBS.items():
        verb = verbs.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module = import_module(f"relay_tune.cli.parsers.{name}")
        verb.description, verb.epilog = module.__doc__, f"example: {module.EXAMPLE}"
        verb.set_defaults(refuse=verb.error)
        module.configure(verb)
    return parser


def _failed(message: str) -> int:
    print(f"tune: error: {message}", file=sys.stderr)
    return FAILED

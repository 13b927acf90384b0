"""Damaged Relay programs: characters, tokens and lines change, and the result is judged."""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import relay_tune.op
from relay_tune import zoo
from relay_tune.errors import RelayError
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import first_difference
from relay_tune.std import prelude
from relay_tune.typing.infer import infer_types

assert relay_tune.op.__doc__  # the programs use its operators
ROOT = Path(__file__).parents[2]
SECONDS = 10
"""Processor seconds that a program may take to be read and typed."""

TOKEN = re.compile(r"\s+|[%@]?[\w./]+|=>|->|==|!=|<=|>=|.", re.DOTALL)


class TooSlow(Exception):
    """A program was not read and typed in time."""


def programs() -> dict[str, str]:
    """What is damaged: programs of the documentation, the tests, the prelude and the zoo."""
    page = (ROOT / "docs" / "language.md").read_text()
    examples = re.findall(r"```relay\n(.*?)```", page, re.DOTALL)
    found = {f"example {number}": text for number, text in enumerate(examples)}
    for folder in ("tests/errors/parse", "tests/errors/typing"):
        found |= {path.stem: path.read_text() for path in sorted((ROOT / folder).glob("*.relay"))}
    found |= {name: zoo.build(name, small=True).astext() for name in zoo.program_names()}
    return found | {"prelude": prelude().astext()}


def mutated(text: str, others: Sequence[str], chance: random.Random) -> str:
    """`text` after a few changes of one kind; pieces may come from `others`."""
    kind = chance.choice((_characters, _tokens, _lines))
    parts, pool, joint = kind(text, chance.choice(others))
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(parts) + 1)
        match chance.randrange(4):
            case 0:
                del parts[place : place + chance.randint(1, 3)]
            case 1:
                parts.insert(place, chance.choice(pool))
            case 2:
                parts[place : place + 1] = [chance.choice(pool)]
            case _:
                parts[place:place] = parts[chance.randrange(len(parts) + 1) :][:5]
    whole = joint.join(parts)
    return whole if chance.random() < 0.9 else whole[: chance.randrange(len(whole) + 1)]


def outcome(text: str) -> str:
    """What becomes of a program; what begins with `wrong` is a defect."""
    try:
        with _time_limit():
            module = infer_types(parse(text))
            if first_difference(parse(module.astext()), module) is not None:
                return "wrong: it is not read back as it is"
    except RelayError as error:
        return "refused" if error.where is not None else f"wrong: no place in: {error}"
    except TooSlow:
        return f"wrong: it took more than {SECONDS} processor seconds"
    except Exception as error:  # noqa: BLE001  # any other exception is what is looked for
        return f"wrong: {type(error).__name__}: {error}"
    return "accepted"


def _characters(text: str, other: str) -> tuple[list[str], list[str], str]:
    return list(text), list('%@"#/*(){}[],:;.=<>-+01_xA\\\n\0é'), ""


def _tokens(text: str, other: str) -> tuple[list[str], list[str], str]:
    return TOKEN.findall(text), TOKEN.findall(other) or [" "], ""


def _lines(text: str, other: str) -> tuple[list[str], list[str], str]:
    return text.split("\n"), other.split("\n"), "\n"


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)

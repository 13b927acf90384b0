"""A schedule for people: its algorithm, and the choices of each loop nest."""

from __future__ import annotations

import json

from relay_tune.errors import InputError
from relay_tune.schedule.schedule import algorithm_of


def schedule_text(text: str) -> str:
    """The JSON text of a schedule with one line for each choice."""
    data = json.loads(text)
    nests = data.get("nests") if isinstance(data, dict) else None
    if not isinstance(nests, list) or not all(isinstance(nest, dict) for nest in nests):
        return json.dumps(data, indent=2)
    others = (f"{name}: {value}" for name, value in data.items() if name not in _SHOWN)
    lines = [f"algorithm: {_algorithm(text)}", *others]
    for number, nest in enumerate(nests, start=1):
        lines.append(f"nest {number} of {len(nests)}" if len(nests) > 1 else "loops")
        width = max(map(len, nest), default=0)
        lines += [f"  {name:<{width}}  {json.dumps(value)}" for name, value in nest.items()]
    return "\n".join(lines)


_SHOWN = ("algorithm", "nests")


def _algorithm(text: str) -> str:
    """The algorithm of a schedule, in its JSON form where it is none that is known."""
    try:
        return str(algorithm_of(text))
    except InputError:
        return json.dumps(json.loads(text)["algorithm"])

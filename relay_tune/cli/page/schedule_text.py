"""A schedule for people: its algorithm, and the choices of each loop nest."""

from __future__ import annotations

import json


def schedule_text(text: str) -> str:
    """The JSON text of a schedule with one line for each choice."""
    data = json.loads(text)
    nests = data.get("nests") if isinstance(data, dict) else None
    if not isinstance(nests, list) or not all(isinstance(nest, dict) for nest in nests):
        return json.dumps(data, indent=2)
    head = [f"{name}: {value}" for name, value in data.items() if name != "nests"]
    lines = head or ["algorithm: direct"]
    for number, nest in enumerate(nests, start=1):
        lines.append(f"nest {number} of {len(nests)}" if len(nests) > 1 else "loops")
        width = max(map(len, nest), default=0)
        lines += [f"  {name:<{width}}  {json.dumps(value)}" for name, value in nest.items()]
    return "\n".join(lines)

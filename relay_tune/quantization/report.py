"""Report of a quantization: the error of each layer, what stayed in float32, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, field
from math import isfinite

from relay_tune.arguments import instance_of
from relay_tune.ir.module import Module
from relay_tune.quantization.loss import decibels
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.describe import counted


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One layer with weights.

    Attributes:
        name: as annotations name it.
        operator: what it is a call of.
        precision: what its weights are stored as, "float32" where it is as it was; "int7" are
            weights of 7 bits in bytes.
        loss: of the outputs where it alone is in integers; None where that is not known.
        reason: why it stayed in float32.
        saved: the time of a call that integers save there, in seconds, as a search has learned it;
            None where none was made.
    """

    name: str
    operator: str
    precision: str
    loss: float | None = None
    reason: str | None = None
    saved: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """A choice of precisions that was built and timed in turns with others.

    Attributes:
        name: what was chosen: "float32", "int8" for all layers, "greedy", "searched" and others.
        integers: how many layers are in integers.
        small: how many of them have weights of 7 bits.
        narrow: how many are in bfloat16.
        seconds: of a call that other work did not disturb.
        ratio: its time as a part of that of float32.
        loss: of its outputs.
    """

    name: str
    integers: int
    small: int
    narrow: int
    seconds: float
    ratio: float
    loss: float


@dataclass(slots=True)
class QuantizationReport:
    """Filled in by `rt.quantize`.

    Attributes:
        method: how ranges were chosen.
        losses: the loss on the calibration data with each method that was tried.
        loss: that of the result, built natively; None without samples.
        samples: how many were given.
        layers: all layers with constant weights of float32.
        notes: what the user should know.
        bytes_before: of the constants.
        bytes_after: of the constants of the result.
        steps: the module after each pass, by the name of the pass.
        compared: what a search over precisions has compared; empty where there was none.
        choices: the networks that it has compared, by name.
    """

    method: str = ""
    losses: dict[str, float] = field(default_factory=dict)
    loss: float | None = None
    samples: int = 0
    layers: list[LayerReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bytes_before: int = 0
    bytes_after: int = 0
    steps: dict[str, Module] = field(default_factory=dict)
    compared: list[Compared] = field(default_factory=list)
    choices: dict[str, Module] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join([self._summary(), *self._table(), *self._footer()])

    def to_json(self) -> dict[str, object]:
        """The report for scripts; losses that are no finite numbers are null."""
        return {
            "method": self.method,
            "losses": {name: _finite(loss) for name, loss in self.losses.items()},
            "loss": None if self.loss is None else _finite(self.loss),
            "samples": self.samples,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "layers": [
                {
                    "name": each.name,
                    "operator": each.operator,
                    "precision": each.precision,
                    "loss": None if each.loss is None else _finite(each.loss),
                    "reason": each.reason,
                    "saved": each.saved,
                }
                for each in self.layers
            ],
            "compared": [{**asdict(each), "loss": _finite(each.loss)} for each in self.compared],
            "notes": list(self.notes),
        }

    def _summary(self) -> str:
        stored = [each.precision for each in self.layers if each.precision != "float32"]
        kinds = "/".join(dict.fromkeys(stored)) or "fewer bits"
        loss = "" if self.loss is None else f", loss {_loss_text(self.loss)}"
        what = f"in {kinds}, ranges by {self.method}" if self.losses else f"with weights in {kinds}"
        return f"{len(stored)} of {counted(len(self.layers), 'layer')} {what}{loss}"

    def _table(self) -> list[str]:
        is_searched = bool(self.compared)
        saved = ("int8 saves",) if is_searched else ()
        rows = [("layer", "operator", "precision", *saved, "loss alone")]
        for each in self.layers:
            loss = "-" if each.loss is None else _loss_text(each.loss)
            reason = "" if each.reason is None else f"  {each.reason}"
            own = ("-" if each.saved is None else _saved_text(each.saved),) if is_searched else ()
            rows.append((each.name, each.operator, each.precision, *own, loss + reason))
        return _aligned(rows)

    def _comparison(self) -> list[str]:
        counts = {
            "in int8": [each.integers - each.small for each in self.compared],
            "in int7": [each.small for each in self.compared],
            "in bfloat16": [each.narrow for each in self.compared],
        }
        columns = {title: counted for title, counted in counts.items() if any(counted)}
        rows = [("choice", *columns, "a call", "of float32", "loss")]
        for number, each in enumerate(self.compared):
            inside = (str(column[number]) for column in columns.values())
            numbers = (*inside, f"{1e3 * each.seconds:.3f} ms", f"{each.ratio:.3f}")
            rows.append((each.name, *numbers, _loss_text(each.loss)))
        return _aligned(rows) if self.compared else []

    def _footer(self) -> list[str]:
        tried = ", ".join(f"{name} {_loss_text(loss)}" for name, loss in self.losses.items())
        constants = f"{self.bytes_before:,} -> {self.bytes_after:,} bytes of constants"
        return [
            *self._comparison(),
            *([f"loss by method: {tried}"] if len(self.losses) > 1 else []),
            constants,
            *(f"note: {note}" for note in self.notes),
        ]


def report_argument(details: object) -> QuantizationReport:
    """The report that a user wants to have told, or one that nobody reads."""
    if details is None:
        return QuantizationReport()
    remedy = "Omit it, or give an empty rt.QuantizationReport()."
    return instance_of(QuantizationReport, details, "details", remedy)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a table as lines; the last column has any width."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    return [
        "  ".join(
            [*(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]
        ).rstrip()
        for row in rows
    ]


def _saved_text(seconds: float) -> str:
    return f"{1e6 * seconds:.0f} us"


def _loss_text(loss: float) -> str:
    if not isfinite(loss):
        return "infinite"
    return f"{100 * loss:.3g} % ({decibels(loss):.1f} dB)" if loss else "0 %"


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None

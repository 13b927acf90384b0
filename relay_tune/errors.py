"""The one error type of the package, as data: what, where, why, and what to do about it.

Code that raises passes meaning (message, place, notes, remedies); `RelayError.render` is the only
place that turns it into text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar

from relay_tune.quick_dataclass import dataclass

FIX_SIZES = (
    "Give the inputs fixed sizes: from_onnx(model, shapes={'x': (1, 3, 224, 224)}), --shape "
    "x=1,3,224,224 on the command line, or numbers in the types of Relay text."
)
"""What to do where a size has to be known before the program runs."""


QUANTIZE_AGAIN = "Quantize the network again, with data like those that it will see."
"""What to do where numbers of a quantized file cannot be: no sizes of inputs help."""


def fix_sizes(shapes: Mapping[str, Sequence[object]]) -> str:
    """The same in the names of inputs of dynamic size, with sizes that they might have."""
    fixed = {name: _possible_shape(shapes[name]) for name in telling(shapes)}
    options = " ".join(f"--shape {name}={','.join(map(str, s))}" for name, s in fixed.items())
    given = {name: tuple(shape) for name, shape in fixed.items()}
    return (
        f"Give the inputs fixed sizes, such as {options} on the command line, "
        f"from_onnx(model, shapes={given}), or numbers in the types of Relay text."
    )


def telling(shapes: Mapping[str, Sequence[object]]) -> list[str]:
    """The names of the first inputs that have all sizes with a name, of those that have any.

    The two caches of each layer of a decoder have one length: sizes of one input tell all.
    """
    known: set[str] = set()
    found: list[str] = []
    for name, shape in shapes.items():
        sizes = {str(size) for size in shape if not isinstance(size, int)}
        if "?" in sizes or not sizes <= known:
            found.append(name)
        known |= sizes
    return found


def _possible_shape(shape: Sequence[object]) -> list[int]:
    """One sample, of three channels and 224 rows and columns if it is an image, else of 128."""
    unknown = (1, 3, *[224] * len(shape)) if len(shape) > 3 else (1, *[128] * len(shape))
    pairs = zip(shape, unknown, strict=False)
    return [size if isinstance(size, int) else guess for size, guess in pairs]


@dataclass(frozen=True, slots=True)
class Span:
    """A region of source text; lines and columns count from 1, the end column is exclusive.

    Attributes:
        shape: of the value that is computed there, as the user's program has it (dimensions of the
            IR); None where nobody noted it. It is no part of comparisons.
    """

    source: str
    line: int
    column: int
    end_line: int
    end_column: int
    shape: tuple[object, ...] | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


INITIALIZER = "initializer"
"""Where a span of an ONNX file names its operator: a weight of the file."""

CONSTANT = "Constant"
"""The operator of the spans of values that stand in nodes of a file."""


@dataclass(frozen=True, slots=True)
class NodeSpan(Span):
    """A node of an ONNX file, which has no lines.

    Attributes:
        name: the node's name, or that of its first output.
        operator: its operator type, such as Conv.
    """

    name: str
    operator: str

    @staticmethod
    def of(name: str, operator: str) -> NodeSpan:
        """The span of a node."""
        return NodeSpan("", 0, 0, 0, 0, name, operator)

    def __str__(self) -> str:
        return f"node '{self.name}' ({self.operator})"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing of a model that cannot be imported.

    Attributes:
        name: of the node; of the input or weight where `operator` is empty.
        operator: the operator type of the node.
        cause: sentences that say what is wrong.
        remedy: what the user can do.
        inputs: the inputs of the model whose values, if they were given, may let the node pass.
    """

    name: str
    operator: str
    cause: str
    remedy: str
    inputs: tuple[str, ...] = ()


class RelayError(Exception):
    """An error that a user can cause.

    Attributes:
        message: one sentence that says what is wrong.
        where: the place: a span of source text, or words such as "node 'conv1' (Conv)".
        label: a fragment that stands under the carets, where there is source text.
        notes: facts that explain the cause.
        remedy: what the user can do, or None.
        source_text: the text that a span points into, if it is known.
        refusals: everything that an importer could not translate.
    """

    REMEDY: ClassVar[str | None] = None
    """The remedy of errors of this class that are raised without one."""

    def __init__(
        self,
        message: str,
        *,
        where: Span | str | None = None,
        label: str = "",
        notes: tuple[str, ...] = (),
        remedy: str | None = None,
        source_text: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.label = label
        self.notes = notes
        self.remedy = self.REMEDY if remedy is None else remedy
        self.source_text = source_text
        self.refusals: tuple[Refusal, ...] = ()

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """The error as text: the sentence and its place, the source with carets, notes, help."""
        lines = [self.message if self.where is None else f"{self.where}: {self.message}"]
        if isinstance(self.where, Span) and self.source_text is not None:
            lines += _excerpt(self.where, self.source_text, self.label)
        lines += [f"  note: {note}" for note in self.notes]
        if self.remedy is not None:
            lines.append(f"  help: {self.remedy}")
        return "\n".join(lines)


class ParseError(RelayError):
    """Text that is not Relay."""


class TypeInferenceError(RelayError):
    """A program to which no type can be given."""


class ModelError(RelayError):
    """A model file that is malformed or contradicts itself."""

    REMEDY = (
        "Export the model again, or repair it; onnx.checker.check_model helps to find the place."
    )


class UnsupportedOperatorError(RelayError):
    """A model that uses operators, or forms of them, which have no translation here.

    Lists everything that cannot be imported.
    """

    REMEDY = "Write this part of the model with other operators, and export it again."


class InputError(RelayError):
    """Inputs, options or paths given to a valid model or command that do not fit it."""


class IndexRangeError(InputError):
    """An index that the axis it is meant for does not have."""


class MemoryLimitError(InputError):
    """A limit of the memory between kernels that cannot be kept.

    Attributes:
        limit: it, in bytes.
        least: the least one that was found.
    """

    limit: int = 0
    least: int = 0


class BuildError(RelayError):
    """A typed program that cannot be compiled, or generated code that is refused."""


class NoNativeCodeError(BuildError):
    """A typed program that has no native form; it can be interpreted."""

    REMEDY = "Run it with rt.interpret, which knows the whole language."


class SystemLimitError(RelayError):
    """A limit of the system on threads, processes or open files."""


class TuningError(RelayError):
    """A tuning run that cannot start or that measured nothing."""


_MOST_COLUMNS, _COLUMNS_BEFORE = 160, 60
"""What is shown of a longer line, and how much of it before the span."""


def _excerpt(span: Span, text: str, label: str) -> list[str]:
    """The first line of `span` with carets under it; of a long line what is around the span."""
    lines = text.splitlines()
    if not 1 <= span.line <= len(lines):
        return []
    line = lines[span.line - 1]
    begin = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    if len(line) > _MOST_COLUMNS:
        first = max(0, begin - _COLUMNS_BEFORE)
        last = first + _MOST_COLUMNS
        cut, line = "..." if first else "", line[first:last] + ("..." if last < len(line) else "")
        line = cut + line
        begin, end = begin - first + len(cut), min(end, last) - first + len(cut)
    carets = "^" * max(1, end - begin)
    gutter = f"{span.line:>5} | "
    marker = " " * 5 + " | " + " " * begin + carets
    return [gutter + line, f"{marker} {label}".rstrip()]

"""What an algorithm is, and an applied one as a value: a sequence of rewrites of a program.

    direct                              no rewrite: the program as it is written
    winograd(tile=4, block=28)          one: an algorithm with its parameters
    split(parts=4) + rows(block=8)      two: what the first one leaves is rewritten again

An algorithm is one record, in a file or folder of its own; `table` lists them. Everything else asks
the record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields
from functools import reduce
from math import inf
from operator import add
from typing import Any

from relay_tune.errors import InputError
from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy, Exactness
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.nests.constant_stages import fold_constant_stages
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.rewrites.needs import runs_anywhere
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram


def parameter(
    among: Collection[object], default: object = MISSING, *, orders_sums: bool = True
) -> Any:
    """A field of `Parameters` whose values are of one type; the default need not be among them.

    `orders_sums` says whether the order in which numbers are added up may depend on it.
    """
    metadata = {"among": among, "orders_sums": orders_sums}
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What an algorithm leaves open. Its fields are made by `parameter`; an algorithm derives."""


Offers = Callable[[TensorProgram, Sequence[Step], Accuracy], Iterable[Parameters]]
"""offers(program, its nests, accuracy) -> the parameters that are worth a look.

The constants of the program are folded; the accuracy allows the algorithm."""

Rewritten = Callable[[TensorProgram, Any], TensorProgram | None]
"""rewritten(program, parameters) -> the new program, None where there is nothing to rewrite."""

OfNest = Callable[[Nest, Any], Nest]
"""nest(a nest of the new program, parameters) -> the nest with what the algorithm says of it."""

Grouped = Callable[[Sequence[Step], Sequence[Tensor], Any], Sequence[Step | RowBlocks]]
"""grouped(nests, outputs, parameters) -> the nests, some of them in blocks of rows.

Raises InputError where blocks are too large."""


Rounds = Callable[[Tensor, Container[Tensor]], bool]
"""rounds(stage, the program's constants) -> whether it is a sum of products of rounded factors."""

TileColumns = Callable[[Nest, Any], int]
"""columns(nest, parameters) -> how wide tiles have to be along the last axis, 0 if that is free."""

Packing = Callable[[Sequence[TileChoice], Any], Sequence[TileChoice]]
"""packing(direct choices, parameters) -> the same with constants packed as the algorithm wants."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way to compute programs other than as they are written.

    Attributes:
        name: in texts and in the JSON form of schedules.
        offers: which parameters are worth a look.
        parameters: the record of its parameters.
        exactness: what it keeps of direct sums, with the parameters that keep most.
        exactness_of: the same with given parameters; None if all keep as much.
        rewritten: what it makes of a program's stages; None if they stay.
        is_ragged: whether parts at the end of an axis that lack some of their positions are in one
            nest with the whole ones; None if nests have whole ones only.
        nest: what it says of each nest; None if nothing.
        grouped: which nests it runs together; None if they run one after the other.
        needs: whether a machine has what it needs.
        fixed_cycles: what it costs beside its nests, from the tensors that these leave for each
            other; None if nothing.
        follows: the algorithms whose programs it may rewrite, beside those as they are written;
            of several, one after the other, all have to be among them.
        packing: the choices of a direct schedule with constants packed as it reads them; None if
            it packs them in ways of its own.
        columns: how wide the tiles of a nest are; None if that is free.
        data_type: the type that it rounds data of products to, and nothing else; empty if it
            rounds nothing, or more.
        rounds: which stages it computes with both factors rounded to bfloat16; None if none.
        saving: no program costs less than a direct one divided by this. `inf` where an algorithm
            does not say, or computes with other instructions.
    """

    name: str
    offers: Offers
    parameters: type[Parameters] = Parameters
    exactness: Exactness = Exactness()
    exactness_of: Callable[[Any], Exactness] | None = None
    rewritten: Rewritten | None = None
    is_ragged: Callable[[Any], bool] | None = None
    nest: OfNest | None = None
    grouped: Grouped | None = None
    needs: Callable[[Machine], bool] = runs_anywhere
    fixed_cycles: Callable[[Collection[Tensor], Machine], float] | None = None
    follows: tuple[Algorithm, ...] = ()
    packing: Packing | None = None
    columns: TileColumns | None = None
    data_type: str = ""
    rounds: Rounds | None = None
    saving: float = inf

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def __call__(self, **values: object) -> AppliedAlgorithm:
        """The algorithm with parameters by keyword.

        Raises InputError for parameters that it does not have, lacks or does not know.
        """
        try:
            parameters = self.parameters(**values)
        except TypeError as error:
            raise self._misfit(values) from error
        known = {each.name: each for each in fields(parameters)}
        for name, value in values.items():
            among, default = known[name].metadata["among"], known[name].default
            same_type = type(value) is type(next(iter(among)))
            if value is not default and not (same_type and value in among):
                raise self._misfit(values)
        return AppliedAlgorithm((Rewrite(self, parameters),))

    def _misfit(self, values: Mapping[str, object]) -> InputError:
        written = ", ".join(f"{name}={value!r}" for name, value in values.items())
        known = (f"{each.name}: {_among(each.metadata['among'])}" for each in _declared(self))
        return InputError(
            f"There is no algorithm {self.name}({written[:200]}).",
            notes=(f"Parameters of {self.name}: {'; '.join(known) or 'none'}.",),
            remedy="Use these, or omit the schedule.",
        )


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An algorithm with its parameters."""

    algorithm: Algorithm
    parameters: Parameters

    @property
    def exactness(self) -> Exactness:
        """What it keeps of direct sums."""
        of = self.algorithm.exactness_of
        return self.algorithm.exactness if of is None else of(self.parameters)

    @property
    def values(self) -> dict[str, object]:
        """The parameters by name, without those that have their default value."""
        found = {each.name: getattr(self.parameters, each.name) for each in _declared(self)}
        defaults = {each.name: each.default for each in _declared(self)}
        return {name: value for name, value in found.items() if value != defaults[name]}

    @property
    def order_of_sums(self) -> tuple[object, ...]:
        """The parameters that the order of sums may depend on, behind the algorithm's name."""
        declared = (each for each in _declared(self) if each.metadata["orders_sums"])
        return self.algorithm.name, *(getattr(self.parameters, each.name) for each in declared)

    def __str__(self) -> str:
        written = ", ".join(f"{name}={value}" for name, value in self.values.items())
        return f"{self.algorithm.name}({written})" if written else self.algorithm.name


@dataclass(frozen=True, slots=True)
class AppliedAlgorithm:
    """How the stages and groups of a program come about: one rewrite after the other."""

    rewrites: tuple[Rewrite, ...] = ()

    def __str__(self) -> str:
        return " + ".join(map(str, self.rewrites)) or "direct"

    def __add__(self, other: AppliedAlgorithm) -> AppliedAlgorithm:
        """This one, then the other. Raises InputError where the other does not follow it."""
        if not self.rewrites or not other.rewrites:
            return self if self.rewrites else other
        after = other.rewrites[0].algorithm
        before = next((each for each in self._algorithms if each not in after.follows), None)
        if before is not None:
            known = ", ".join(each.name for each in after.follows)
            raise InputError(
                f"The algorithm {after.name} does not follow {before.name}.",
                notes=(f"It follows {known or 'none'}.",),
                remedy="Use a schedule with one of these algorithms, or none.",
            )
        return AppliedAlgorithm(self.rewrites + other.rewrites)

    def to_json(self) -> list[dict[str, object]]:
        """The JSON form: for each rewrite its name and its parameters by name."""
        return [{"name": each.algorithm.name, **each.values} for each in self.rewrites]

    @property
    def exactness(self) -> Exactness:
        """What all rewrites together keep of direct sums."""
        every = [each.exactness for each in self.rewrites]
        return Exactness(
            max((each.mixing for each in every), default=Exactness().mixing),
            max((each.rounding for each in every), default=Exactness().rounding),
        )

    @property
    def keeps_stages(self) -> bool:
        """Whether stages are as they are written, if in groups."""
        return all(each.algorithm.rewritten is None for each in self.rewrites)

    @property
    def order_of_sums(self) -> tuple[tuple[object, ...], ...]:
        """Equal where numbers are added up in the same order, as far as algorithms decide that."""
        rewritten = (each for each in self.rewrites if each.algorithm.rewritten is not None)
        return tuple(each.order_of_sums for each in rewritten)

    @property
    def before_groups(self) -> AppliedAlgorithm | None:
        """The algorithm whose nests this one leaves but for groups; None where it does more."""
        if not self.rewrites:
            return None
        *before, last = (each.algorithm for each in self.rewrites)
        changes = (last.rewritten, last.is_ragged, last.nest, *(each.grouped for each in before))
        if last.grouped is None or any(each is not None for each in changes):
            return None
        return AppliedAlgorithm(self.rewrites[:-1])

    def can_run(self, machine: Machine) -> bool:
        """Whether a machine has what the algorithm needs."""
        return all(each.algorithm.needs(machine) for each in self.rewrites)

    def can_be_followed_by(self, other: Algorithm) -> bool:
        """Whether another one may rewrite what this one leaves."""
        return all(each in other.follows for each in self._algorithms)

    @property
    def _algorithms(self) -> tuple[Algorithm, ...]:
        return tuple(each.algorithm for each in self.rewrites)

    def prepared(self, program: TensorProgram) -> TensorProgram:
        """The program that is planned: constants folded, its stages those of the algorithm.

        Programs of one structure give the same constants in the same order, whatever their values.
        Raises InputError if the algorithm does not apply to the program.
        """
        found = fold_constant_stages(program)
        for each in self.rewrites:
            if each.algorithm.rewritten is None:
                continue
            changed = each.algorithm.rewritten(found, each.parameters)
            if changed is None:
                raise InputError(
                    f"The algorithm {self} does not apply to this program.",
                    remedy="Use the schedule with the program that it was found for, or none.",
                )
            found = changed
        return found

    @property
    def is_ragged(self) -> bool:
        """Whether nests have what is left at the ends of their axes, with a test for it."""
        asked = ((each.algorithm.is_ragged, each.parameters) for each in self.rewrites)
        return any(ask is not None and ask(parameters) for ask, parameters in asked)

    def nest(self, nest: Nest) -> Nest:
        """A nest of the prepared program, with what the algorithm says of it."""
        for each in self.rewrites:
            if each.algorithm.nest is not None:
                nest = each.algorithm.nest(nest, each.parameters)
        return nest

    def columns(self, nest: Nest) -> int:
        """How wide the tiles of a nest have to be along its last axis; 0 if that is free."""
        found = 0
        for each in self.rewrites:
            if each.algorithm.columns is not None:
                found = max(found, each.algorithm.columns(nest, each.parameters))
        return found

    def grouped(
        self, nests: Sequence[Step], outputs: Sequence[Tensor]
    ) -> tuple[Step | RowBlocks, ...]:
        """The nests of the prepared program, in groups where the algorithm has blocks.

        The last rewrite that makes groups does. Raises InputError if the blocks are too large.
        """
        for each in reversed(self.rewrites):
            if each.algorithm.grouped is not None:
                return tuple(each.algorithm.grouped(nests, outputs, each.parameters))
        return tuple(nests)

    def packing(self, choices: Sequence[TileChoice]) -> tuple[TileChoice, ...] | None:
        """The choices of a direct schedule that packs constants as this algorithm reads them.

        None where no direct schedule does; `choices` say all else.
        """
        for each in self.rewrites:
            if each.algorithm.packing is None:
                return None
            choices = each.algorithm.packing(choices, each.parameters)
        return tuple(choices)

    def fixed_cycles(self, between: Callable[[], Collection[Tensor]], machine: Machine) -> float:
        """The estimated cycles that its nests do not know; `between` are what these leave."""
        own = (each.algorithm.fixed_cycles for each in self.rewrites)
        return sum(cycles(between(), machine) for cycles in own if cycles is not None)


DIRECT = AppliedAlgorithm()
"""The program as it is written."""


def read_algorithm(form: object, known: Sequence[Algorithm]) -> AppliedAlgorithm:
    """The applied algorithm of a JSON form, of those that are known.

    Raises TypeError where that is no such form, InputError where there is no such algorithm.
    """
    if not isinstance(form, list):
        raise TypeError(f"{form!r} is no list of rewrites")
    return reduce(add, (_read(each, known) for each in form), DIRECT)


def _read(form: object, known: Sequence[Algorithm]) -> AppliedAlgorithm:
    match form:
        case {"name": str(name), **values}:
            found = next((each for each in known if each.name == name), None)
            if found is not None:
                return found(**{str(key): value for key, value in values.items()})
            raise InputError(
                f"There is no algorithm {name[:200]!r}.",
                notes=(f"Known: {', '.join(each.name for each in known)}.",),
                remedy="Use one of these, or omit the schedule.",
            )
    raise TypeError(f"{form!r} is no algorithm with parameters")


def _declared(owner: Algorithm | Rewrite) -> Iterator[Any]:
    """The fields of an algorithm's parameters."""
    yield from fields(owner.parameters)


def _among(values: Collection[object]) -> str:
    if isinstance(values, range):
        return f"{values[0]} .. {values[-1]}"
    return ", ".join(map(str, values))

"""Where references are counted, written as text."""

from relay_tune.building.program_form import program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.instructions import Instruction, Release, Retain, Unpack
from relay_tune.program.lower_program import lower_program
from relay_tune.program.program import FirstOrderFunction
from relay_tune.typing.infer import infer_types

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"


def lowered(text: str) -> dict[str, FirstOrderFunction]:
    module = infer_types(parse('#[version = "0.0.5"]\n' + text))
    return dict(lower_program(program_module(module)).functions)


def counts(function: FirstOrderFunction) -> list[str]:
    """The names of the counting instructions of a function in order."""
    instructions = [i for block in function.blocks for i in block.instructions]
    return [type(i).__name__ for i in instructions if isinstance(i, Retain | Release | Unpack)]


def find(function: FirstOrderFunction, kind: type[Instruction]) -> list[Instruction]:
    return [i for block in function.blocks for i in block.instructions if isinstance(i, kind)]


def test_invariants_of_a_loop_move_from_one_iteration_to_the_next() -> None:
    functions = lowered(
        """
def @main(%n: int32, %x: Tensor[(4), float32], %w: Tensor[(4), float32]) {
  let %v = exp(%w);
  let %loop = fn (%i: int32, %a: Tensor[(4), float32]) -> Tensor[(4), float32] {
    if (%i < 1) { %a } else { %loop(%i - 1, tanh(%a * %v)) }
  };
  %loop(%n, %x)
}
"""
    )
    # the old state after its last use, and the weights where the loop ends
    assert counts(functions["@main/loop"]) == ["Release", "Release"]
    assert counts(functions["@main"]) == []


def test_a_list_that_is_matched_last_is_unpacked() -> None:
    functions = lowered(
        LIST
        + """
def @sum(%l: List[float32], %s: float32) -> float32 {
  match (%l) { Cons(%h, %t) => { @sum(%t, %s + %h) }, Nil => { %s }, }
}
def @main(%x: float32) { @sum(Cons(%x, Cons(%x, Nil)), 0f) }
"""
    )
    assert counts(functions["@sum"]) == ["Release", "Unpack"]


def test_what_is_used_again_is_retained() -> None:
    functions = lowered(
        LIST
        + """
def @main(%x: Tensor[(4), float32]) {
  let %l = Cons(%x, Nil);
  (Cons(%x, %l), %l)
}
"""
    )
    assert counts(functions["@main"]) == ["Retain", "Retain"]


def test_fields_that_nobody_needs_are_not_read() -> None:
    functions = lowered(
        LIST
        + """
def @main(%l: List[Tensor[(4), float32]], %n: int32) {
  match (%l) { Cons(%unused, _) => { %n }, Nil => { 0 }, }
}
"""
    )
    assert counts(functions["@main"]) == ["Release", "Release"]


def test_what_one_branch_does_not_need_is_released_in_the_order_of_its_making() -> None:
    """In every process: the memory at which objects of Python happen to lie decides nothing."""
    names = [f"%a{number}" for number in range(12)]
    params = ", ".join(f"{name}: Tensor[(4), float32]" for name in names)
    cells = " ".join(f"let %r{number} = ref({name});" for number, name in enumerate(names))
    used = ", ".join(f"%r{number}" for number in range(len(names)))
    functions = lowered(
        f"def @main(%n: int32, {params}) {{ {cells} if (%n < 1) {{ ({used}) }} "
        f"else {{ ({', '.join(f'ref({name})' for name in names)}) }} }}"
    )
    (main,) = (each for name, each in functions.items() if name == "@main")
    made = {
        result: number
        for number, result in enumerate(
            result
            for block in main.blocks
            for instruction in block.instructions
            for result in instruction.results
        )
    }
    released = [each.object for each in find(main, Release) if isinstance(each, Release)]
    positions = [made[each] for each in released if each in made]
    assert len(positions) == len(names)
    assert positions == sorted(positions)

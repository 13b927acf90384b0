"""Eta expansion, lambda lifting, defunctionalisation, continuation passing."""

import numpy as np
import pytest

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Constant, Function
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.language.defunctionalize import Defunctionalize
from relay_tune.transform.language.eta_expand import EtaExpand
from relay_tune.transform.language.lambda_lift import LambdaLift
from relay_tune.transform.language.partial_evaluate import PartialEvaluate
from relay_tune.transform.language.specialize import Specialize
from relay_tune.transform.language.to_cps import ToCps
from relay_tune.transform.language.un_cps import UnCps
from relay_tune.typing.infer import infer_types
from tests.transform.language.conftest import Check

PROGRAMS = {
    "identity": "def @main(%x: int32) { let %id = fn [A](%a: A) { %a }; %id(%x) }",
    "double": (
        "def @double[A](%f: fn (A) -> A, %a: A) -> A { %f(%f(%a)) } "
        "def @main(%x: int32) { @double(fn (%a: int32) { %a * 3 }, %x) }"
    ),
    "captures": "def @main(%x: int32) { let %f = fn (%a: int32) { %a + %x }; %f(1) * %f(2) }",
    "recursive": (
        "def @main(%x: int32) { let %f = fn (%n: int32) -> int32 {"
        " if (%n < 1) { %x } else { %f(%n - 1) + 1 } }; %f(4) }"
    ),
    "global recursion": (
        "def @main(%x: int32) { @sum(@map(fn (%a: int32) { %a * %x }, Cons(1, Cons(2, Nil)))) }"
    ),
    "recursive data": "def @main(%x: int32) { @count(@plus(Succ(Zero), Succ(Zero))) + %x }",
    "closure in a tuple": (
        "def @main(%x: int32) { let %t = (fn (%a: int32) { %a + %x }, 3); %t.0(%t.1) }"
    ),
    "polymorphic function in a tuple": (
        "def @same[A](%a: A) -> A { %a } "
        "def @main(%x: int32) { let %t = (@same, %x); (%t.0(%t.1), %t.0(True)) }"
    ),
    "closure in a list": (
        "def @main(%x: int32) { match (Cons(fn (%a: int32) { %a - %x }, Nil)) {"
        " Cons(%f, _) => %f(9), Nil => 0 } }"
    ),
    "closure of a closure": (
        "def @main(%x: int32) { let %f = fn (%a: int32) { fn (%b: int32) { (%a - %b) * %x } };"
        " let %g = %f(4); %g(1) + %g(2) }"
    ),
    "constructor as a value": (
        "def @one[A, B](%f: fn (A) -> B, %a: A) -> B { %f(%a) } "
        "def @main(%x: int32) { @count(@one(Succ, Zero)) + %x }"
    ),
    "closures of one type in a tuple": (
        "def @main(%x: int32) { let %t = (fn (%a: int32) { %a + %x }, fn (%a: int32) { %a - 3 });"
        " %t.0(%t.1(%x)) }"
    ),
    "closures that two calls share": (
        "def @main(%x: int32) { let %f = fn (%a: int32) { %a * %x };"
        " let %g = fn (%n: int32) -> int32 { if (%n < 1) { %x } else { %g(%n - 1) + 1 } };"
        " let %h = if (%x < 3) { %f } else { %g }; %h(2) - %f(3) + %g(4) }"
    ),
    "closures in a cell": (
        "def @main(%x: int32) { let %r = ref(fn (%a: int32) { %a * %x }); let %s = (%r, 1);"
        " ref_write(%s.0, fn (%a: int32) { %a - %x }); let %f = ref_read(%r); %f(9) }"
    ),
    "closures in data in data": (
        "def @main(%x: int32) { let %l = Cons((fn (%a: int32) { %a + %x }, 2), Nil);"
        " match (Cons(%l, Nil)) { Cons(Cons((%f, %n), _), _) => %f(%n),"
        " Cons(Nil, _) => (fn (%a: int32) { %a })(%x), Nil => 0 } }"
    ),
    "no closure": (
        "def @main(%x: int32) { let %l: List[fn (int32) -> int32] = Nil;"
        " let %f = fn (%a: int32) { %a - %x }; @sum(@map(fn (%g: fn (int32) -> int32) { %g(%x) },"
        " %l)) + %f(2) }"
    ),
    "effects in a closure": (
        "def @main(%x: int32) { let %r = ref(%x); let %f = fn () {"
        " ref_write(%r, ref_read(%r) * 2); ref_read(%r) }; %f() - %f() }"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lambda_lifting(name: str, answer_kept: Check) -> None:
    after = infer_types(parse(answer_kept(LambdaLift(), PROGRAMS[name], 5)))
    for function in after.functions.values():
        returned = function.body if function.attributes.get("Closure") == 1 else None
        nested = [node for node in post_order(function.body) if isinstance(node, Function)]
        assert nested in ([], [returned])


@pytest.mark.parametrize("name", PROGRAMS)
def test_defunctionalisation(name: str, answer_kept: Check) -> None:
    after = infer_types(parse(answer_kept(Defunctionalize(), PROGRAMS[name], 5)))
    for function in after.functions.values():
        assert not any(isinstance(node, Function) for node in post_order(function.body))


def test_calls_apply_the_closures_that_reach_them(answer_kept: Check) -> None:
    """Closures of one type have a function each where no call may reach both."""
    apart = answer_kept(Defunctionalize(), PROGRAMS["closures of one type in a tuple"], 5)
    assert apart.count("def @apply") == 2 and apart.count("match? (%f)") == 2
    cells = answer_kept(Defunctionalize(), PROGRAMS["closures in a cell"], 5)
    assert cells.count("def @apply") == 1 and "match (%f)" in cells


def test_what_two_calls_apply_is_written_once(answer_kept: Check) -> None:
    after = answer_kept(Defunctionalize(), PROGRAMS["closures that two calls share"], 5)
    assert after.count("multiply(%a, %x)") == 1 and after.count("subtract(%a, 1)") == 1


def test_functions_that_the_entry_does_not_use_apply_any_closure() -> None:
    text = (
        "def @other(%f: fn (int32) -> int32) { @use(%f) } def @use(%f: fn (int32) -> int32) {"
        " %f(4) } def @main(%x: int32) { (fn (%a: int32) { %a - %x })(3) - @use(fn (%a: int32) {"
        " %a * %x }) }"
    )
    module = infer_types(parse(text))
    after = Defunctionalize()(module)
    assert interpret(after, 5) == interpret(module, 5) == -22
    closure = next(iter(after.types.values())).constructors[0]
    given = infer_types(
        after.with_function("test", Function((), Call(closure, (Constant(np.int32(5)),))))
    )
    assert interpret(given, interpret(given, function="test"), function="other") == -1


@pytest.mark.parametrize("name", PROGRAMS)
def test_continuation_passing_there_and_back(name: str, answer_kept: Check) -> None:
    after = parse(answer_kept(lambda module: UnCps()(ToCps()(module)), PROGRAMS[name], 5))
    assert [param.name for param in after["main_cps"].params] == ["x", "k"]
    assert [param.name for param in after.main.params] == ["x"]  # no continuation is left


@pytest.mark.parametrize("name", ["identity", "double", "captures", "closure of a closure"])
def test_partial_evaluation_removes_continuations(name: str, answer_kept: Check) -> None:
    after = answer_kept(
        lambda module: PartialEvaluate()(UnCps()(ToCps()(module))), PROGRAMS[name], 5
    )
    assert "fn" not in after and "_cps" not in after


def test_a_continuation_is_given_the_answer() -> None:
    module = ToCps()(infer_types(parse("def @main(%x: int32) { %x * 2 }")))
    with_answer = module.with_function(
        "test", infer_types(parse("def @main() { fn (%a: int32) { %a + 1 } }")).main
    )
    assert interpret(module, 4, interpret(with_answer, function="test")) == 9


def test_closures_without_captures_are_lifted_as_they_are(answer_kept: Check) -> None:
    after = answer_kept(
        LambdaLift(), "def @main(%x: int32) { let %f = fn (%a: int32) { %a + 1 }; %f(%x) }", 5
    )
    assert "Closure=1" not in after and "def @main_f(%a: int32)" in after


def test_polymorphic_closures_are_not_passed_to_lifted_functions(answer_kept: Check) -> None:
    """What uses one at several types makes it anew, so that each use can have its own copy."""
    text = (
        "def @main(%x: int32) { let %pair = fn [A](%a: A) -> (A, int32) { (%a, %x) };"
        " let %use = fn (%n: int32) { (%pair(%n), %pair(True)) }; (%use(1), %pair(2f)) }"
    )
    after = answer_kept(LambdaLift(), text, 5)
    assert "def @main_use(%x: int32, Closure=1)" in after
    Specialize()(infer_types(parse(after)))


def test_eta_expansion_of_functions_and_constructors(answer_kept: Check) -> None:
    text = (
        "def @succ(%a: int32) -> int32 { %a + 1 } "
        "def @main(%x: int32) { (@sum(@map(@succ, Cons(%x, Nil))), @map(Succ, Nil)).0 }"
    )
    constructors = answer_kept(EtaExpand(), text, 5)
    assert "(@succ, " in constructors and "Succ(%a)" in constructors
    everything = answer_kept(EtaExpand(global_functions=True), text, 5)
    assert "@succ(%a)" in everything and "(@succ," not in everything


def test_entry_that_takes_functions_has_no_first_order_form() -> None:
    module = infer_types(parse("def @main(%f: fn (int32) -> int32) { %f(1) }"))
    with pytest.raises(BuildError, match="takes or returns functions"):
        Defunctionalize()(module)


@pytest.mark.parametrize("step", [Defunctionalize(), ToCps()], ids=lambda step: step.name)
def test_data_that_hold_functions_are_refused(step: ToCps) -> None:
    text = "type Box { Full(fn (int32) -> int32) } def @main() { Full(fn (%a: int32) { %a }); 1 }"
    with pytest.raises(BuildError, match="Values of Box hold functions"):
        step(infer_types(parse(text)))


def test_a_function_without_continuation_has_no_way_back() -> None:
    with pytest.raises(BuildError, match="not in continuation passing style"):
        UnCps()(infer_types(parse("def @main(%x: int32) { %x }")))

"""Relay texts that ask for too much: deep nesting, enormous numbers and sizes, odd characters."""

from __future__ import annotations

DEEP = 10_000
X = "%x: Tensor[(2), float32]"


def hostile_texts() -> dict[str, str]:
    """The texts by what is bad about them."""
    return {**_nested(), **_numbers(), **_characters(), **_names(), **_recursion()}


def main(body: str, parameters: str = X) -> str:
    """A program whose main function has this body."""
    return f"def @main({parameters}) {{ {body} }}"


def _around(begin: str, end: str, inner: str = "%x") -> str:
    return begin * DEEP + inner + end * DEEP


def _nested() -> dict[str, str]:
    lets = "".join(f"let %a{n + 1} = nn.relu(%a{n}); " for n in range(DEEP))
    return {
        "parentheses": main(_around("(", ")")),
        "parentheses that stay open": main("(" * DEEP + "%x"),
        "parentheses that were never opened": main("%x" + ")" * DEEP),
        "tuples": main(_around("(", ",)")),
        "tuples of types": main("%x", "%x: " + _around("(", ",)", "int32")),
        "function types": main("%x", "%x: " + _around("fn (", ") -> int32", "int32")),
        "calls": main(_around("nn.relu(", ")")),
        "functions": main(_around("fn () { ", " }")),
        "blocks": main(_around("{ ", " }")),
        "branches": main(_around("if (True) { ", " } else { %x }")),
        "lets in lets": main(_around("let %y = { ", " }; %y")),
        "a chain of lets": main(f"let %a0 = %x; {lets}%a{DEEP}"),
        "a sum": main(" + ".join(["%x"] * DEEP)),
        "minus signs": main("-" * DEEP + "1f"),
        "nots": main("!" * DEEP + "True"),
        "indices": main("%x" + ".0" * DEEP),
        "patterns": main("match (%x) { " + _around("Cons(", ", _)", "_") + " => %x }"),
        "types of types": main("%x", "%x: " + _around("List[", "]", "int32")),
        "brackets": "[" * DEEP,
        "attributes": main(f"reshape(%x, newshape={'[' * DEEP}2{']' * DEEP})"),
        "comments": "/*" * DEEP,
        "references": main(_around("ref(", ")")),
    }


def _numbers() -> dict[str, str]:
    huge = "9" * 5000
    found = {
        "a huge integer": main(huge),
        "a huge float": main(f"{huge}f"),
        "a huge exponent": main("1e99999999f"),
        "a huge integer type": main("%x", f"%x: int{huge}"),
        "many lanes": main("%x", "%x: Tensor[(2), float32x1000000]"),
        "a huge index": main(f"(%x, %x).{huge}"),
        "a huge attribute": main(f"sum(%x, axis=[{huge}])"),
        "a huge version": f'#[version = "{huge}"]\n{main("%x")}',
        "a huge meta index": main(f"meta[relay.Constant][{huge}]"),
        "a sum that overflows": main("9223372036854775807i64 + 1i64", ""),
        "an integer that does not fit": main("300u8", ""),
    }
    for size in ("-1", "0", str(2**31), str(2**62), str(2**64), huge):
        shape = f"%x: Tensor[({size}, {size}), float32]"
        found[f"size {size[:20]}"] = main("nn.relu(%x)", shape)
        found[f"product of size {size[:20]}"] = main("nn.dense(%x, %x)", shape)
        found[f"zeros of size {size[:20]}"] = main(f"zeros(shape=[{size}], dtype=float32)", "")
        found[f"reshaped to {size[:20]}"] = main(f"reshape(%x, newshape=[{size}])")
        found[f"tiled {size[:20]} times"] = main(f"tile(%x, reps=[{size}])")
        found[f"padded by {size[:20]}"] = main(f"nn.pad(%x, pad_width=[[{size}, {size}]])")
        found[f"axis {size[:20]}"] = main(f"sum(%x, axis=[{size}])")
    return found


def _characters() -> dict[str, str]:
    return {
        "nothing": "",
        "spaces": " \t\r\n" * 1000,
        "NUL": main("%x\0"),
        "NUL in a name": main("%a\0b", "%a\0b: int32"),
        "a byte order mark": "\ufeff" + main("%x"),
        "from right to left": main("%\u202ex", "%\u202ex: int32"),
        "letters of other scripts": main("%größe", "%größe: int32"),
        "digits of other scripts": main("%x + \u0663f"),
        "a lone surrogate": main("%x /* \ud800 */"),
        "combining marks": main("%x" + "\u0301" * 5000),
        "line ends of old systems": main("%x").replace(" ", "\r"),
        "line separators": main("%x").replace(" ", "\u2028"),
        "vertical tabs": main("%x").replace(" ", "\v"),
        "a string without an end": main('annotation.stop_fusion(%x, name="abc)'),
        "a string of escapes": main('annotation.stop_fusion(%x, name="' + "\\" * 4001 + '")'),
        "a comment without an end": main("%x /* no end"),
        "a long name": main(f"%{'x' * 1_000_000}", f"%{'x' * 1_000_000}: int32"),
        "a long line": main("%x" + " " * 1_000_000),
        "many lines": main("%x" + "\n" * 100_000),
        "binary": bytes(range(256)).decode("latin-1") * 20,
    }


def _names() -> dict[str, str]:
    types = "".join(f"type T{n} {{ C{n}(T{n + 1}) }} " for n in range(300))
    return {
        "main twice": main("%x") + main("%x"),
        "a parameter twice": main("%x", f"{X}, {X}"),
        "a constructor twice": "type A { C(int32), C(int32) } " + main("%x"),
        "a type twice": "type A { C } type A { D } " + main("%x"),
        "a type variable twice": "def @main[A, A](%x: A) { %x }",
        "a type of types without an end": types + "type T300 { End } " + main("%x"),
        "no main": "def @other(%x: int32) { %x }",
        "an operator that is none": main("nn.no_such_operator(%x)"),
        "an attribute that is none": main("nn.relu(%x, deep=3)"),
        "an attribute twice": main("sum(%x, axis=[0], axis=[0])"),
        "no arguments": main("nn.dense()"),
        "a thousand arguments": main(f"nn.dense({', '.join(['%x'] * 1000)})"),
        "a thousand parameters": main("%x0", ", ".join(f"%x{n}: int32" for n in range(1000))),
        "graph variables in a circle": main("%0 = nn.relu(%1); %1 = nn.relu(%0); %1"),
        "a graph variable twice": main("%0 = nn.relu(%x); %0 = nn.relu(%x); %0"),
    }


def _recursion() -> dict[str, str]:
    ring = "".join(
        f"def @f{n}(%x: int32) -> int32 {{ @f{(n + 1) % 500}(%x) }} " for n in range(500)
    )
    doubling = "let %a0 = %x; " + "".join(f"let %a{n + 1} = (%a{n}, %a{n}); " for n in range(60))
    return {
        "itself at once": "def @main(%x: int32) -> int32 { @main(%x) }",
        "itself without a type": "def @main(%x) { @main(%x) }",
        "a ring of functions": ring + "def @main(%x: int32) -> int32 { @f0(%x) }",
        "a type that contains itself": main("fn (%f) { %f(%f) }", ""),
        "omega": main("let %f = fn (%g) { %g(%g) }; %f(%f)", ""),
        "types that double": main(f"{doubling}%a60"),
        "pairs of pairs": main("let %d = fn (%a) { (%a, %a) }; " + "%d(" * 40 + "%x" + ")" * 40),
        "an ever larger type": "type N[A] { Leaf(A), More(N[(A, A)]) } "
        "def @main(%x: N[int32]) -> int32 { match (%x) { Leaf(%a) => %a, More(_) => 0 } }",
    }

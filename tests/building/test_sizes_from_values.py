"""Operators that find the sizes of their results when they run, beside the interpreter."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.relay_text import parse
from tests.building.open_programs import built, check, floats


def integers(*values: int) -> np.ndarray:
    return np.array(values, "int64")


X = "%x: Tensor[(n, 6), float32]"
FROM_VALUES = [
    (
        'dyn.arange(1, %n, 2, dtype="float32")',
        "%n: int32",
        [(np.int32(n),) for n in (0, 1, 2, 5, 40)],
    ),
    (
        'dyn.arange(0.5f, %n, 0.25f, dtype="float32")',
        "%n: float32",
        [(np.float32(n),) for n in (0, 2.3)],
    ),
    (
        'dyn.full(2.5f, %s) + dyn.ones(%s, dtype="float32")',
        "%s: Tensor[(2), int64]",
        [(integers(2, 3),), (integers(0, 3),), (integers(17, 33),)],
    ),
    (
        "nn.relu(dyn.reshape(%x, %s))",
        f"{X}, %s: Tensor[(3), int64]",
        [(floats(4, 6), integers(*s)) for s in ((2, 3, 4), (-1, 3, 2), (0, 3, -1))],
    ),
    (
        "dyn.broadcast_to(%x, %s)",
        "%x: Tensor[(1, 6), float32], %s: Tensor[(3), int64]",
        [(floats(1, 6), integers(*s)) for s in ((2, 3, 6), (1, 1, 6))],
    ),
    (
        "dyn.tile(%x, %s)",
        f"{X}, %s: Tensor[(2), int64]",
        [(floats(3, 6), integers(2, 3)), (floats(1, 6), integers(1, 1))],
    ),
    (
        "nn.relu(dyn.reshape(%x, %s, allowzero=True))",
        "%x: Tensor[(n, 0, 6), float32], %s: Tensor[(2), int64]",
        [(floats(4, 0, 6), integers(*s)) for s in ((3, 0), (0, 7))],
    ),
    (
        "dyn.tile(%x, %s)",
        "%x: Tensor[(n, 0), float32], %s: Tensor[(2), int64]",
        [(floats(3, 0), integers(2, 3))],
    ),
    (
        "dyn.strided_slice(%x, %b, %e, %s)",
        f"{X}, %b: Tensor[(2), int64], %e: Tensor[(2), int64], %s: Tensor[(2), int64]",
        [
            (floats(5, 6), integers(*b), integers(*e), integers(*s))
            for b, e, s in (
                ((1, 0), (4, 6), (1, 2)),
                ((-1, 5), (-4, 0), (-1, -2)),
                ((0, 0), (99, 99), (3, 1)),
                ((3, 0), (1, 6), (1, 1)),
            )
        ],
    ),
    (
        "argwhere(nn.relu(%x))",
        X,
        [(floats(5, 6),), (np.zeros((3, 6), "float32"),), (floats(70, 6),)],
    ),
    ("nn.relu(strided_slice(%x, begin=[-3, 2], end=[100, 5]))", X, [(floats(2, 6),)]),
    ("nn.relu(strided_slice(%x, begin=[1, 0], end=[4, 6]))", X, [(floats(9, 6),), (floats(2, 6),)]),
    (
        "strided_slice(%x, begin=[-1, 0], end=[-100, 6], strides=[-1, 1])",
        X,
        [(floats(n, 6),) for n in (1, 4)],
    ),
    (
        "(argsort(%x, axis=0), sort(%x, axis=0), topk(%x, k=1, axis=0))",
        X,
        [(floats(n, 6),) for n in (1, 3, 20)],
    ),
]


@pytest.mark.parametrize(("body", "parameters", "inputs"), FROM_VALUES)
def test_sizes_that_operators_find(
    body: str, parameters: str, inputs: list[tuple[object, ...]]
) -> None:
    module, model = built(f"def @main({parameters}) {{ {body} }}")
    for arguments in inputs:
        check(module, model, *arguments)


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ("dyn.reshape(%x, %s)", (floats(4, 6), integers(5, 5))),
        ("dyn.broadcast_to(%x, %s)", (floats(4, 6), integers(3, 6))),
        ("dyn.ones(%s)", (floats(4, 6), integers(-3, 6))),
        ("dyn.topk(%x, take(%s, 0))", (floats(4, 6), integers(7, 1))),
    ],
)
def test_sizes_that_there_are_not_end_the_program(body: str, arguments: tuple[object]) -> None:
    _, model = built(f"def @main({X}, %s: Tensor[(2), int64]) {{ {body} }}")
    with pytest.raises(RelayError, match="do not fit the operation"):
        model(*arguments)


@pytest.mark.parametrize("bounds", ["[7, 0], end=[2147483647, 6]", "[1, 0], end=[-2, 6]"])
@pytest.mark.parametrize("size", ["n", "?"])
def test_more_may_be_cut_off_than_there_is(bounds: str, size: str) -> None:
    module, model = built(
        f"def @main(%x: Tensor[({size}, 6), float32]) {{ tanh(strided_slice(%x, begin={bounds})) }}"
    )
    for rows in (1, 2, 3, 7, 8, 20):
        check(module, model, floats(rows, 6))


@pytest.mark.parametrize("ret_type", ["both", "values", "indices"])
def test_the_greatest_elements_however_many(ret_type: str) -> None:
    body = f'dyn.topk(%x, %k, axis=0, ret_type="{ret_type}")'
    module, model = built(f"def @main(%x: Tensor[(?, 6), float32], %k: int64) {{ {body} }}")
    for rows, count in ((4, 1), (4, 4), (7, 3), (2, 0)):
        check(module, model, floats(rows, 6), np.int64(count))


def test_an_open_image_is_enlarged_by_any_factor() -> None:
    for scale in ("2f", "1.5f"):
        text = f"nn.upsampling(%x, scale_h={scale}, scale_w=2f)"
        module = parse(f"def @main(%x: Tensor[(1, 2, ?, ?), float32]) {{ {text} }}")
        lines: list[str] = []
        model = build(module, threads=1, report=lines.append)
        assert any("no code for all sizes" in line for line in lines) == (scale == "1.5f")
        for size in ((5, 4), (1, 1)):
            check(module, model, floats(1, 2, *size))


def test_what_has_no_code_names_the_operator() -> None:
    enlarged = "nn.upsampling(%p.0, scale_h=1.5f, scale_w=2f)"
    with pytest.raises(RelayError, match=r"result of nn\.upsampling does not follow"):
        built(f"def @main(%p: (Tensor[(1, 2, ?, ?), float32], int32)) {{ {enlarged} }}")


def test_a_shape_like_another_one_must_have_as_many_elements() -> None:
    module, model = built(
        "def @main(%x: Tensor[(4), bool]) { reshape_like(argwhere(%x), zeros(shape=[3])) }"
    )
    check(module, model, np.array([True, False, True, True]))
    with pytest.raises(RelayError, match="not as many elements"):
        model(np.array([True, False, False, True]))


@pytest.mark.parametrize("condition", [True, False])
def test_results_whose_sizes_are_forgotten_have_them(condition: bool) -> None:
    """No tensor of the program is of unknown size but by the annotation of its result."""
    module, model = built(
        """def @main(%c: bool, %x: Tensor[(4, 3), float32]) -> Tensor[(?, 3), float32] {
          if (%c) {
            let %a: Tensor[(?, 3), float32] = nn.relu(%x);
            %a
          } else {
            let %b: Tensor[(?, 3), float32] = strided_slice(%x, begin=(0,), end=(2,), axes=(0,));
            %b
          }
        }"""
    )
    check(module, model, np.bool_(condition), floats(4, 3))


@pytest.mark.parametrize(
    "body",
    ["exp(%a)", 'cast(%a, dtype="int64")', "sum(%a, axis=[1])", "nn.dense(%a, %x)"],
)
def test_an_input_whose_size_is_forgotten_has_it(body: str) -> None:
    """The caller's memory has no sizes in front of it, as the program's own tensors have."""
    main = "def @main(%x: Tensor[(4, 3), float32])"
    module, model = built(f"{main} {{ let %a: Tensor[(?, 3), float32] = %x; {body} }}")
    check(module, model, floats(4, 3))

"""Products of matrices and vectors in programs."""

# The types of programs are texts that checkers of Python take for names.
# ruff: noqa: F821, UP037

import numpy as np
import pytest

import relay_tune as rt


@rt.relay
def matrix_with_vector(m: "Tensor[(3, 4), float32]", v: "Tensor[(4), float32]"):
    return m @ v


@rt.relay
def vector_with_matrix(v: "Tensor[(3), float32]", m: "Tensor[(3, 4), float32]"):
    return v @ m


@rt.relay
def vectors(v: "Tensor[(4), float32]", w: "Tensor[(4), float32]"):
    return v @ w


@pytest.mark.parametrize(
    "program, shapes",
    [
        (matrix_with_vector, ((3, 4), (4,))),
        (vector_with_matrix, ((3,), (3, 4))),
        (vectors, ((4,), (4,))),
    ],
    ids=["matrix-vector", "vector-matrix", "vectors"],
)
def test_products_with_vectors_are_those_of_numpy(
    program: object, shapes: tuple[tuple[int, ...], ...]
) -> None:
    random = np.random.default_rng(0)
    left, right = (random.random(shape, np.float32) for shape in shapes)
    module = program.module  # type: ignore[attr-defined]
    for found in (rt.interpret(module, left, right), rt.build(module)(left, right)):
        assert np.shape(found) == np.shape(left @ right)
        np.testing.assert_allclose(found, left @ right, rtol=1e-5)


def test_a_program_in_place_of_a_module_is_told_where_the_module_is() -> None:
    for use in (rt.build, rt.infer_types, rt.to_onnx):
        with pytest.raises(rt.InputError) as caught:
            use(vectors)  # type: ignore[operator]
        assert "vectors.module" in (caught.value.remedy or "")

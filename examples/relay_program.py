"""A Relay program with recursion over a list: Horner's rule for matrices.

It is interpreted, which is the reference, and compiled to one native program.
"""

import numpy as np

import relay_tune as rt

TEXT = """
type Coefficients { End, More(Tensor[(2, 2), float32], Coefficients) }

def @horner(%x: Tensor[(2, 2), float32], %left: Coefficients) -> Tensor[(2, 2), float32] {
  match (%left) {
    End => zeros(shape=(2, 2), dtype="float32"),
    More(%first, %rest) => {
      let %inner = @horner(%x, %rest);
      add(%first, nn.matmul(%x, %inner))
    }
  }
}

def @main(%x: Tensor[(2, 2), float32], %left: Coefficients) -> Tensor[(2, 2), float32] {
  @horner(%x, %left)
}
"""


def coefficients(module: rt.Module, matrices: list[np.ndarray]) -> object:
    """The matrices as a value of the program's data type."""
    value = rt.data_value(module, "End")
    for matrix in reversed(matrices):
        value = rt.data_value(module, "More", matrix, value)
    return value


module = rt.infer_types(rt.parse(TEXT))
print(module)

x = np.array([[0.5, 0.1], [0.0, 0.5]], np.float32)
matrices = [np.eye(2, dtype=np.float32) * n for n in (1, 2, 3)]
value = coefficients(module, matrices)

program = rt.build(module)
found = program(x, value)
expected = matrices[0] + x @ (matrices[1] + x @ matrices[2])
assert np.allclose(found, expected)
assert np.allclose(rt.interpret(module, x, value), expected)
print(found)

"""Tensors that are read by the sizes of others, which a run tells, are large enough."""

import numpy as np
import pytest

import relay_tune as rt

CASES = {
    "gather(%x, %i, axis=0)": ((3, 4), (2, 4), (2, 5)),
    "gather_nd(%x, %i, batch_dims=1)": ((3, 4), (1, 3), (1, 4)),
    "scatter_elements(%x, %i, gather(%x, %i, axis=0), axis=0)": ((3, 4), (2, 3), (2, 5)),
    "slice_like(%x, %i)": ((3, 4), (3, 2), (3, 5)),
}


@pytest.mark.parametrize("text", CASES)
def test_inputs_of_sizes_that_do_not_fit_are_refused(text: str) -> None:
    shape, fitting, larger = CASES[text]
    sizes = "(?, ?)" if "nd" not in text else "(1, ?)"
    module = rt.parse(
        f"def @main(%x: Tensor[(?, ?), float32], %i: Tensor[{sizes}, int64]) {{ {text} }}"
    )
    model = rt.build(module, threads=1)
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    good, bad = (np.ones(each, "int64") for each in (fitting, larger))
    np.testing.assert_array_equal(model(x, good), rt.interpret(module, x, good))
    for run in (model, lambda *inputs: rt.interpret(module, *inputs)):
        with pytest.raises(rt.RelayError, match=r"smaller than that of|less than|not fit|conflict"):
            run(x, bad)
    np.testing.assert_array_equal(model(x, good), rt.interpret(module, x, good))

import numpy as np

import relay_tune as rt


@rt.relay
def program(x: rt.Tensor[(4, 5), "float32"], n: int):
    return np.einsum("ij,jk->ik", x, x)

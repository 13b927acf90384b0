import relay_tune as rt


@rt.relay
def program(x: rt.Tensor[(4,), "float32"]):
    x[0] = 1.0
    return x

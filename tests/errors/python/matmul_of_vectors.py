import relay_tune as rt


@rt.relay
def program(x: rt.Tensor[(4,), "float32"], y: rt.Tensor[(2, 3, 4), "float32"]):
    return y @ x

import relay_tune as rt


@rt.relay
def program(x: "Tensor[(2), float33]"):
    return x

import relay_tune as rt


@rt.relay
def program(x: rt.Tensor[(4,), "float32"]):
    total = 0.0
    for part in x:
        total += part
    return total

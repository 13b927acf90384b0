import relay_tune as rt


@rt.relay
def program(x: rt.Tensor[(4, 4), "float32"], n: int):
    ys: list[float] = []
    return ys.append(1.0)

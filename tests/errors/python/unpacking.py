import relay_tune as rt


@rt.relay
def program(x: float):
    a, b = (x, x, x)
    return a

import relay_tune as rt


@rt.relay
def program(x: float):
    if x > 0:
        y = x
    return y

import relay_tune as rt


@rt.relay
def program(x: float, n: int):
    if n > 0:
        y = x
    else:
        y = n
    return y

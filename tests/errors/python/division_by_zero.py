import relay_tune as rt


@rt.relay
def program(x: float):
    return x + 1 // 0

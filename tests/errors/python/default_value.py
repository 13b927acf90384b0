import relay_tune as rt


@rt.relay
def program(x: float, mode="fast"):
    return x

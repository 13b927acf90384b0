import relay_tune as rt


@rt.relay
def program(x: float, y=1):
    return x

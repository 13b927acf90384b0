import relay_tune as rt


@rt.relay
def program(x: float):
    return x + ("a" < 1)

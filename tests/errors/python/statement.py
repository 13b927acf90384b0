import relay_tune as rt


@rt.relay
def program(x: float):
    with x:
        return x

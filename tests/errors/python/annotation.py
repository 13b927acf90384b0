import relay_tune as rt


@rt.relay
def program(x: dict):
    return x

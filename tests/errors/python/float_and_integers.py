import relay_tune as rt


@rt.relay
def program(n: int):
    return n * 0.5

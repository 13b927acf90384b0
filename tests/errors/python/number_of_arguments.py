import relay_tune as rt


@rt.relay
def helper(x: float):
    return x


@rt.relay
def program(x: float):
    return helper(x, x)

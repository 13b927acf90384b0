import relay_tune as rt


def helper(x):
    return x


@rt.relay
def program(x: float):
    return helper(x)

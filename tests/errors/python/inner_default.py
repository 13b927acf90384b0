import relay_tune as rt


@rt.relay
def program(x: float):
    def scaled(y, by=2.0):
        return y * by

    return scaled(x)

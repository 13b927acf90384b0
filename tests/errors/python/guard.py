import relay_tune as rt


@rt.relay
def program(xs: list[int]):
    match xs:
        case [x, *_] if x > 0:
            return x
        case _:
            return 0

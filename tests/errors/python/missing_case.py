import relay_tune as rt


@rt.relay
def program(xs: list[int]):
    match xs:
        case [x, *_]:
            return x

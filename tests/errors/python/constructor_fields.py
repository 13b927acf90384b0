import relay_tune as rt


@rt.relay
def program(xs: list[int]):
    match xs:
        case Cons(x):
            return x
        case _:
            return 0

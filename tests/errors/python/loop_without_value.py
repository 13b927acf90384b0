import relay_tune as rt


@rt.relay
def program(n: int):
    for i in range(n):
        last = i
    return last

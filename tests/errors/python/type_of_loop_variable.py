import relay_tune as rt


@rt.relay
def program(x: float, n: int):
    total = 0
    for i in range(n):
        total = total + x
    return total

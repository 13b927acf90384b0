import relay_tune as rt


@rt.relay
def program(n: int):
    total = 0
    for i in range(0, 10, n):
        total += i
    return total

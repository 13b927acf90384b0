"""How calls that run beside each other become one call on joined channels.

layers    layers that read the same data
operands  what the calls that follow them read besides
"""

"""What a machine has to say about itself, as data.

architecture               all that processors have in common which triples name alike
machine                    the figures that estimates and passes know of it
coefficients               what the cost of a schedule is made of beside rates
intrinsic                  instructions on tiles, as records; pattern: what they compute
linking, listing           what shared libraries need; machine code that is written down
permission                 what the operating system is to be asked for before them
"""

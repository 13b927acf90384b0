"""What a machine has to say about itself, as data.

machine                    the figures that estimates and passes know of it
intrinsic                  instructions on tiles, as records; pattern: what they compute
permission                 what the operating system is to be asked for before them
"""

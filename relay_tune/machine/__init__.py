"""What a machine has to say about itself, as data.

machine                    the figures that estimates and passes know of it
"""

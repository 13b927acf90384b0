"""Synthetic performance landscapes: small models of tiled kernels, to try strategies on.

They predict no machine; they have the traits that make real ones hard: registers that run out,
tiles that leave a remainder, caches that overflow, loop orders that interact with both.
"""

from search.landscapes.convolution import convolution_landscape
from search.landscapes.machine import Landscape
from search.landscapes.matmul import matmul_landscape
from search.landscapes.sample import sample_table

__all__ = ["Landscape", "convolution_landscape", "matmul_landscape", "sample_table"]

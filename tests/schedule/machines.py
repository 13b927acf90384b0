"""Machines that schedules are chosen for in tests."""

from dataclasses import replace

from relay_tune.machine.machine import Machine

SERVER = Machine(vector_bytes=64, registers=32)
"""A core with AVX-512 and the general figures for caches."""

TILES = replace(SERVER, tile_cycles=20.0)
"""The same with matrix registers."""

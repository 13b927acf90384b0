"""Machines that schedules are chosen for in tests."""

from dataclasses import replace

from relay_tune.machine.machine import Machine
from relay_tune.targets.x86.intrinsics import INTRINSICS

SERVER = Machine(vector_bytes=64, registers=32)
"""A core with AVX-512 and the general figures for caches."""

TILES = replace(SERVER, intrinsics=INTRINSICS)
"""The same with matrix registers."""

"""Libraries called as C calls them, through `NAME_run`."""

import ctypes
import math
from pathlib import Path
from typing import Any

import numpy as np

from relay_tune.building.program_form import program_module
from relay_tune.building.programs import compile_program
from relay_tune.codegen.export import c_name
from relay_tune.codegen.programs.library import export_program
from relay_tune.codegen.target import native_target
from relay_tune.ir.parser.parse import parse
from relay_tune.typing.infer import infer_types

Array = np.ndarray


class PlainLibrary:
    """The library `NAME.so` of a program, written to a folder."""

    def __init__(self, text: str, path: Path, threads: int = 1) -> None:
        module = infer_types(parse(text, source_name="f.relay"))
        target = native_target()
        compiled = compile_program(
            program_module(module), target, threads, None, report=lambda line: None
        )
        export_program(compiled, path)
        self.name = c_name(path.stem)
        self.header = path.with_suffix(".h").read_text()
        self._library = ctypes.CDLL(str(path))

    def call(self, function: str, *arguments: object, result: Any = ctypes.c_int) -> Any:
        """A function of the library, whose name is given without that of the library."""
        found = self._library[f"{self.name}_{function}"]
        found.restype = result
        return found(*arguments)

    def text(self, function: str, *arguments: object) -> str:
        """What a function that gives text gives."""
        found = self.call(function, *arguments, result=ctypes.c_char_p)
        assert isinstance(found, bytes)
        return found.decode()

    def number(self, function: str, *arguments: object) -> int:
        """What a function that gives an int64_t gives."""
        found = self.call(function, *arguments, result=ctypes.c_int64)
        assert isinstance(found, int)
        return found

    def run(self, inputs: list[Array], outputs: list[Array], threads: int = 0) -> int:
        """`NAME_run`: its result."""
        return int(self.call("run", addresses(inputs), addresses(outputs), threads))

    def run_open(
        self, inputs: list[Array], shapes: list[list[int]] | None = None, threads: int = 0
    ) -> list[Array] | int:
        """`NAME_run` where sizes are known at run time only: the outputs, or the error.

        `shapes` are those that it is told, by default those of the inputs.
        """
        count = int(self.call("output_count"))
        ranks = [int(self.call("output_rank", number)) for number in range(count)]
        outputs = (ctypes.c_void_p * count)(*[1] * count)
        rooms = [np.full(rank + 1, -1, np.int64) for rank in ranks]
        told = [list(array.shape) for array in inputs] if shapes is None else shapes
        sizes = [np.array(shape, np.int64) for shape in told]
        tables = addresses(inputs), addresses(sizes), outputs, addresses(rooms)
        status = int(self.call("run", *tables, threads))
        if status != 0:
            assert not any(outputs)
            return status
        return [
            self._taken(number, outputs[number], room[:rank].tolist())
            for number, (room, rank) in enumerate(zip(rooms, ranks, strict=True))
        ]

    def _taken(self, number: int, output: int | None, shape: list[int]) -> Array:
        """A copy of an output, which is given back."""
        assert output is not None and output % 64 == 0
        dtype = np.dtype(self.text("output_dtype", number))
        data = ctypes.string_at(output, math.prod(shape) * dtype.itemsize)
        self.call("free", ctypes.c_void_p(output), result=None)
        return np.frombuffer(data, dtype).reshape(shape)

    def shape(self, side: str, number: int) -> list[int]:
        """The shape of an input or an output."""
        rank = int(self.call(f"{side}_rank", number))
        sizes = self.call(f"{side}_shape", number, result=ctypes.POINTER(ctypes.c_int64))
        return [sizes[axis] for axis in range(rank)]

    def described(self, side: str) -> list[tuple[str, str, list[int], int]]:
        """Name, dtype, shape and bytes of all inputs or outputs."""
        return [
            (
                self.text(f"{side}_name", number),
                self.text(f"{side}_dtype", number),
                self.shape(side, number),
                self.number(f"{side}_bytes", number),
            )
            for number in range(int(self.call(f"{side}_count")))
        ]


def addresses(arrays: list[Array]) -> ctypes.Array[ctypes.c_void_p]:
    """An array of pointers to the elements of arrays."""
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))

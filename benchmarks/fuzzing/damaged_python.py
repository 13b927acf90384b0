"""Damaged and odd programs in Python: translated to Relay, or refused with the line that is wrong.

What Python itself refuses, when it reads or imports the file, is not looked at.
"""

from __future__ import annotations

import random
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from benchmarks.fuzzing.damaged_programs import mutated
from relay_tune.errors import RelayError
from relay_tune.frontend.python.relay_function import RelayFunction
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import first_difference

ROOT = Path(__file__).parents[2]
OURS = str(ROOT / "relay_tune")
TENSOR = "x: 'Tensor[(4), float32]'"


KNOWN_OUTCOMES = ("accepted", "refused", "refused by Python", "no program")


def python_programs() -> list[str]:
    """What is damaged: the programs of the documentation and of the tests of errors."""
    page = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    files = sorted((ROOT / "tests" / "errors" / "python").glob("*.py"))
    return [*blocks, *(path.read_text() for path in files)]


def odd_programs() -> dict[str, str]:
    """Programs of Python that have no or no obvious form in Relay, by what is odd about them."""
    bodies = {
        "a huge integer": "return x + 10**400",
        "a huge power": "return x * 2**100000",
        "a huge literal": f"return x + {'9' * 4000}",
        "many parentheses": f"return {'(' * 90}x{')' * 90}",
        "a long sum": f"return {' + '.join(['x'] * 3000)}",
        "many statements": "\n    ".join(["x = x + 1.0"] * 3000 + ["return x"]),
        "nested branches": _branches(18),
        "nested loops": _loops(15),
        "names of other scripts": "größe = x\n    return größe",
        "a string": "return 'a\\0b'",
        "bytes": "return b'abc'",
        "a formatted string": "return f'{x}'",
        "nothing": "pass",
        "an ellipsis": "...",
        "None": "return None",
        "a generator": "yield x",
        "a walrus": "return (y := x) + y",
        "try": "try:\n        return x\n    except ValueError:\n        return x",
        "with": "with x:\n        return x",
        "an endless loop": "while True:\n        x = x + 1.0\n    return x",
        "a global": "global q\n    q = x\n    return q",
        "a class": "class A: pass\n    return A",
        "a comprehension": "return [y for y in x]",
        "nested comprehensions": "return [[z for z in y] for y in [x, x]]",
        "a dictionary": "return {'a': x}",
        "a set": "return {x}",
        "a lambda": "return (lambda y: y)(x)",
        "itself": "return program(x)",
        "an import": "import os\n    return x",
        "del": "del x\n    return x",
        "assert": "assert x\n    return x",
        "raise": "raise ValueError",
        "a starred call": "return np.add(*[x, x])",
        "keywords": "return np.sum(x, **{'axis': 0})",
        "a chained comparison": "return 1.0 < x < 2.0",
        "a chained assignment": "y = z = x\n    return y + z",
        "swapping": "x, y = x, x\n    x, y = y, x\n    return x",
        "an augmented index": "x[0] += 1.0\n    return x",
        "a slice with a step": "return x[::-1]",
        "an index beyond": "return x[99]",
        "a huge index": "return x[2**70]",
        "a division by zero": "return x / 0",
        "a modulo by zero": "return 5 % 0 + x",
        "a complex number": "return x + 2j",
        "an attribute of an attribute": "return x.shape.shape",
        "a private attribute": "return x.__class__",
        "a text outside": "'''doc\nat the left'''\n    return x",
        "a nested function": "def inner(y):\n        return y + x\n    return inner(x)",
        "a nested function that recurs": "def f(y):\n        return f(y)\n    return f(x)",
        "a decorator inside": "@rt.relay\n    def f(y):\n        return y\n    return f(x)",
        "await": "return x if x else x",
        "star expressions": "a, *b = [x, x, x]\n    return a",
        "match on a tensor": "match x:\n        case 1:\n            return x\n    return x",
        "unreachable code": "return x\n    return undefined",
        "a shadowed module": "np = x\n    return np.sum(x)",
        "a range of floats": "for i in range(1.5):\n        x = x + 1.0\n    return x",
        "a huge range": "for i in range(2**70):\n        x = x + 1.0\n    return x",
    }
    heads = "import numpy as np\nimport relay_tune as rt\n\n\n@rt.relay\n"
    found = {name: f"{heads}def program({TENSOR}):\n    {body}\n" for name, body in bodies.items()}
    for name, parameters in {
        "star parameters": "*x",
        "keyword parameters": "**x",
        "keyword only": f"*, {TENSOR}",
        "position only": f"{TENSOR}, /",
        "no annotation": "x",
        "an annotation of nonsense": "x: 'Tensor[('",
        "an annotation of a number": "x: 3",
        "an enormous tensor": "x: 'Tensor[(99999999999, 99999999999), float32]'",
        "a default": f"{TENSOR} = None",
        "no parameters": "",
    }.items():
        value = "x" if parameters else "1"
        found[name] = f"{heads}def program({parameters}):\n    return {value}\n"
    indented = (
        f"    @rt.relay\n    def program({TENSOR}):\n        '''left\nout'''\n        return x\n"
    )
    found["a text left of a nested function"] = (
        f"import relay_tune as rt\n\n\ndef make():\n{indented}    return program\n\n\n"
        "program = make()\n"
    )
    found["a lambda as a program"] = "import relay_tune as rt\nprogram = rt.relay(lambda x: x)\n"
    found["a method as a program"] = "import relay_tune as rt\nprogram = rt.relay('x'.upper)\n"
    found["a coroutine as a program"] = f"{heads}async def program({TENSOR}):\n    return x\n"
    return found


def damaged_python(seed: int) -> str:
    """A program of the documentation or the tests after a few changes."""
    chance, texts = random.Random(seed), python_programs()
    return mutated(chance.choice(texts), texts, chance)


def python_outcome(text: str) -> Iterator[str]:
    """What becomes of a file of programs; what begins with `wrong` is a defect."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        try:
            path.write_text(text, encoding="utf-8")
        except UnicodeEncodeError:
            yield "refused by Python"
            return
        yield _outcome(path)


def _outcome(path: Path) -> str:
    warnings.simplefilter("ignore")  # Python's own, about escapes and comparisons with literals
    try:
        module = _imported(path)
        functions = [each for each in vars(module).values() if isinstance(each, RelayFunction)]
        for function in functions:
            translated = function.module
            if first_difference(parse(translated.astext()), translated) is not None:
                return "wrong: it is not read back as it is"
    except RelayError as error:
        return "refused" if error.remedy or error.where else f"wrong: no way out in: {error}"
    except Exception as error:  # noqa: BLE001  (that is what is looked for)
        frames = traceback.extract_tb(error.__traceback__)
        is_ours = any(frame.filename.startswith(OURS) for frame in frames)
        return f"wrong: {type(error).__name__}: {error}" if is_ours else "refused by Python"
    return "accepted" if functions else "no program"


def _imported(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _branches(depth: int) -> str:
    lines = [f"{'    ' * (n + 1)}if np.sum(x) > {n}.0:" for n in range(depth)]
    lines.append(f"{'    ' * (depth + 1)}x = x + 1.0")
    return "\n".join(lines).strip() + "\n    return x"


def _loops(depth: int) -> str:
    lines = [f"{'    ' * (n + 1)}for i{n} in range(2):" for n in range(depth)]
    lines.append(f"{'    ' * (depth + 1)}x = x + 1.0")
    return "\n".join(lines).strip() + "\n    return x"

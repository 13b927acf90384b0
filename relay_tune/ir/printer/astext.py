"""Modules and expressions as Relay text, which `relay_tune.ir.parser.parse` reads back exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from relay_tune.ir.expr import AttributeValue, Constructor, Expr, Function
from relay_tune.ir.metadata import metadata_text
from relay_tune.ir.names import bare_name, sigil_name
from relay_tune.ir.printer.atoms import AtomWriter
from relay_tune.ir.printer.attributes import mapping_texts
from relay_tune.ir.printer.comments import Annotate, Comments
from relay_tune.ir.printer.constants import ConstantPool
from relay_tune.ir.printer.expressions import ExpressionWriter
from relay_tune.ir.printer.names import Names
from relay_tune.ir.printer.types import type_name_text, type_params_text, type_text
from relay_tune.ir.type_data import TypeData

VERSION_LINE = '#[version = "0.0.5"]\n'


class PrintedProgram(Protocol):
    """The printed part of a module (`relay_tune.ir.module.Module` stands above)."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """The functions by name."""

    @property
    def types(self) -> Mapping[str, TypeData]:
        """The data types by name."""

    @property
    def attributes(self) -> Mapping[str, AttributeValue]:
        """The attributes of the module by name."""


def astext(
    node: PrintedProgram | Expr,
    show_types: bool = False,
    show_weights: bool = True,
    annotate: Annotate | None = None,
) -> str:
    """The text of a module or expression, with version line and metadata section.

    Printing what was parsed from such a text gives the same text. Linear up to a logarithm, for
    graphs of any depth.

    Args:
        node: what is printed.
        show_types: whether inferred types are added as comments.
        show_weights: whether there is a metadata section; a text that refers to constants cannot be
            read back without it.
        annotate: gives a comment for the value of each line that is no block, or an empty text.

    Raises InputError for a constant whose element type tensors cannot have.
    """
    constants, comments = ConstantPool(), Comments(show_types, annotate)
    if isinstance(node, Expr):
        atoms = AtomWriter(Names(()), constants)
        body = ExpressionWriter(node, atoms, comments).expression()
        header = VERSION_LINE
    else:
        body = "".join(f"\n{part}" for part in _definitions(node, constants, comments))
        header = VERSION_LINE + _attributes_line(node)
    metadata = metadata_text(constants.tensors) if show_weights else ""
    return header + body + (f"\n{metadata}" if metadata else "")


def _attributes_line(module: PrintedProgram) -> str:
    texts = ", ".join(mapping_texts(module.attributes))
    return f"#[attributes({texts})]\n" if texts else ""


def _definitions(
    module: PrintedProgram, constants: ConstantPool, comments: Comments
) -> Iterator[str]:
    for data in module.types.values():
        yield _type_definition(data, module)
    for name, function in module.functions.items():
        atoms = AtomWriter(Names(module.types), constants)
        writer = ExpressionWriter(function, atoms, comments)
        yield writer.function(f"def @{sigil_name(name)}", function)


def _type_definition(data: TypeData, module: PrintedProgram) -> str:
    names = Names(module.types)
    head = "extern type " if data.extern else "type "
    head += type_name_text(data.header.name)
    head += type_params_text(data.type_params, names.type_variable)
    if data.extern and not data.constructors:
        return f"{head}\n"
    lines = [f"  {_constructor_text(part, names)},\n" for part in data.constructors]
    return f"{head} {{\n{''.join(lines)}}}\n"


def _constructor_text(constructor: Constructor, names: Names) -> str:
    inputs = ", ".join(type_text(part, names.type_variable) for part in constructor.inputs)
    name = bare_name(constructor.name)
    return f"{name}({inputs})" if inputs else name

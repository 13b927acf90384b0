"""relay_tune: a deep-learning compiler that tunes itself on the machine it runs on.

    import relay_tune as rt

    module = rt.from_onnx("model.onnx")
    rt.tune(module, log="tuning.db", minutes=5)
    model = rt.build(module, log="tuning.db")
    y = model(x)

Each public name is imported when it is first used, so that `import relay_tune` is quick and needs
none of the libraries below. `__init__.pyi` tells type checkers what the names are.
"""

import gc
from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"

_HOMES = {
    "relay_tune.building.interpret": ("interpret",),
    "relay_tune.errors": (
        "BuildError",
        "InputError",
        "ModelError",
        "ParseError",
        "RelayError",
        "Span",
        "TuningError",
        "TypeInferenceError",
        "UnsupportedOperatorError",
    ),
    "relay_tune.frontend.expressions": (
        "Call",
        "Constant",
        "Expr",
        "Function",
        "GlobalVar",
        "If",
        "Let",
        "Match",
        "Tuple",
        "TupleGetItem",
        "Var",
        "constant",
    ),
    "relay_tune.frontend.onnx_import.from_onnx": ("from_onnx",),
    "relay_tune.frontend.python.own_derivatives": (
        "checkpoint",
        "custom_jvp",
        "custom_vjp",
    ),
    "relay_tune.frontend.python.relay_model": ("relay_model",),
    "relay_tune.frontend.python.relay_function": ("relay",),
    "relay_tune.frontend.python.types": ("Tensor",),
    "relay_tune.frontend.relay_text": ("from_json", "parse", "parse_expr"),
    "relay_tune.frontend.scope_builder": ("ScopeBuilder",),
    "relay_tune.frontend.onnx_export.to_onnx": ("to_onnx",),
    "relay_tune.ir.json_form": ("to_json",),
    "relay_tune.ir.module": ("Module",),
    "relay_tune.ir.structural": ("structural_equal", "structural_hash"),
    "relay_tune.ir.type_data": ("TypeData",),
    "relay_tune.ir.types": ("FuncType", "TensorType", "TupleType", "Type"),
    "relay_tune.std.select": ("prelude", "with_prelude"),
    "relay_tune.quantization.report": ("QuantizationReport",),
    "relay_tune.runtime.data_values": ("data_value", "list_items", "list_value"),
    "relay_tune.runtime.executable": ("Executable",),
    "relay_tune.runtime.load": ("load",),
    "relay_tune.runtime.model": ("Model",),
    "relay_tune.training.derivatives": (
        "grad",
        "hessian_vector",
        "jvp",
        "value_and_grad",
        "vjp",
    ),
    "relay_tune.transform.pipeline": ("default_pipeline",),
    "relay_tune.tuning.precision.quantize": ("quantize",),
    "relay_tune.tuning.tuned_build": ("build",),
    "relay_tune.tuning.tune": ("TuningResult", "tune"),
    "relay_tune.typing.infer": ("infer_expr", "infer_types"),
}
_PACKAGES = ("op", "training", "zoo")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, *_PACKAGES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> object:
    """A public name, imported on first use (PEP 562)."""
    if name in _PACKAGES:
        return _imported(f"relay_tune.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'relay_tune' has no attribute {name!r}")
    value = getattr(_imported(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def _imported(name: str) -> ModuleType:
    """A module; Python looks for no garbage meanwhile, for a thousand modules leave hardly any."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)

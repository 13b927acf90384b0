"""What was made for a kernel goes when its text is sent, without a search for garbage."""

import gc
from concurrent.futures import Future

import numpy as np

from relay_tune.building.kept_kernels import KeptKernels, PrimitiveCode
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import primitives_of, write_primitive
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.codegen.target import native_target, parse_target
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.remembered import results_for_one_build
from relay_tune.schedule.plan import Plan
from relay_tune.tensor.loops import Loop
from relay_tune.tensor.touched import statements
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

TEXT = """
def @main(%x: Tensor[(1, 16, 16, 8), float32], %k: Tensor[(3, 3, 8, 8), float32]) {
  nn.relu(nn.conv2d(%x, %k, channels=8, kernel_size=[3, 3], data_layout="NHWC",
                    kernel_layout="HWIO"))
}"""


def module() -> Module:
    kernel = np.random.default_rng(0).standard_normal((3, 3, 8, 8)).astype("float32")
    return infer_types(BindParameters({"k": kernel})(parse(TEXT)))


def test_writers_and_plans_go_by_themselves() -> None:
    """Plans under several algorithms, of which Winograd's has many nodes, know each other."""
    (primitive,) = primitives_of([module().main]).values()

    def alive() -> int:
        kinds = (Plan, ValueWriter, FunctionWriter)
        return sum(isinstance(each, kinds) for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = alive()
        with results_for_one_build():
            write_primitive(primitive, parse_target("x86_64-linux-gnu:haswell"), 1, None)
        assert alive() == before
    finally:
        gc.enable()


def code_of_kernel() -> tuple[Primitive, PrimitiveCode]:
    (primitive,) = primitives_of([module().main]).values()
    with results_for_one_build():
        return primitive, write_primitive(primitive, native_target(), 2, None)


def test_what_is_sent_has_the_calls_of_the_whole() -> None:
    _, code = code_of_kernel()
    sent = code.sent()
    assert not sent.text
    for whole, called in zip(code.scheduled.kernels, sent.scheduled.kernels, strict=True):
        assert called.arguments == whole.arguments and called.points == whole.points
        assert len([*statements(called.body)]) == 2 < len([*statements(whole.body)])
        assert isinstance(called.body, Loop) and called.body.axis.extent > 1


def test_kernels_without_an_object_are_scheduled_anew() -> None:
    primitive, code = code_of_kernel()
    kept, failed, done = KeptKernels(), Future[bytes](), Future[bytes]()
    failed.set_exception(RuntimeError())
    done.set_result(b"")
    kept.keep(primitive, code)
    assert kept.scheduled(primitive) is code and kept.code(primitive) is None
    kept.keep(primitive, code.sent(), failed)
    assert kept.scheduled(primitive) is None and kept.code(primitive) is None
    kept.keep(primitive, code.sent(), done)
    assert kept.scheduled(primitive) is not None and kept.code(primitive) is not None

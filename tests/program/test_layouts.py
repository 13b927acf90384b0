from relay_tune.ir.types import TensorType
from relay_tune.program.kinds import ScalarKind, TensorKind
from relay_tune.program.layouts import (
    SIZE_CLASSES,
    ObjectLayout,
    class_bytes,
    size_class,
    tensor_bytes,
)


def test_the_smallest_class_that_fits_is_taken() -> None:
    for size in [*range(1, 5000), 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**30 + 5]:
        number = size_class(size)
        assert 0 <= number < SIZE_CLASSES
        assert size <= class_bytes(number)
        assert number == 0 or class_bytes(number - 1) < size


def test_no_class_wastes_more_than_a_quarter() -> None:
    for size in range(1024, 100_000, 7):
        assert class_bytes(size_class(size)) <= 1.25 * size + 1


def test_fields_lie_at_multiples_of_their_size() -> None:
    vector = TensorKind(TensorType((3,), "float32"))
    layout = ObjectLayout(1, "mixed", (ScalarKind("bool"), vector, ScalarKind("int16"), vector))
    assert layout.offsets == (16, 24, 32, 40)
    assert layout.counted_offsets == (24, 40)
    assert layout.size == 48


def test_elements_of_tensors_are_in_whole_cache_lines() -> None:
    assert tensor_bytes(TensorKind(TensorType((3,), "float32"))) == 128
    assert tensor_bytes(TensorKind(TensorType((0, 5), "int8"))) == 64
    assert class_bytes(size_class(128)) % 64 == 0

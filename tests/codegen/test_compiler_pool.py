import pytest

from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError

FUNCTION = """
target triple = "{triple}"
define i64 @{name}(i64 %x) {{
  %y = add i64 %x, 1
  ret i64 %y
}}
"""


def test_objects_come_back_in_order() -> None:
    target = native_target()
    names = [f"function{n}" for n in range(5)]
    with CompilerPool(target, 2) as pool:
        futures = [pool.submit(FUNCTION.format(triple=target.triple, name=n)) for n in names]
        objects = [future.result() for future in futures]
    code = LoadedCode(objects, names)
    assert len({code.address(name) for name in names}) == 5


def test_rejected_text_is_an_error_and_the_worker_goes_on() -> None:
    target = native_target()
    with CompilerPool(target, 1) as pool:
        bad = pool.submit("define nonsense")
        good = pool.submit(FUNCTION.format(triple=target.triple, name="f"))
        with pytest.raises(BuildError, match="rejected"):
            bad.result()
        assert good.result()


def test_a_text_is_compiled_once() -> None:
    target = native_target()
    text = FUNCTION.format(triple=target.triple, name="f")
    with CompilerPool(target, 1) as pool:
        assert pool.submit(text) is pool.submit(text)
        rejected = pool.submit("define nonsense")
        with pytest.raises(BuildError, match="rejected"):
            rejected.result()
        assert pool.submit("define nonsense") is not rejected


def test_objects_are_kept_up_to_a_number_of_bytes() -> None:
    target = native_target()
    texts = [FUNCTION.format(triple=target.triple, name=f"function{n}") for n in range(4)]
    with CompilerPool(target, 1) as pool:
        size = len(pool.submit(texts[0]).result())
    with CompilerPool(target, 1, remembered_bytes=int(2.5 * size)) as pool:
        first = [pool.submit(text) for text in texts]
        for future in first:
            assert future.result()
        assert pool.submit(texts[3]) is first[3]
        assert pool.submit(texts[2]) is first[2]
        assert pool.submit(texts[0]) is not first[0]

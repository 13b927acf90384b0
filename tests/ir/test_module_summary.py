from __future__ import annotations

import relay_tune as rt


def test_a_module_says_what_is_in_it() -> None:
    module = rt.parse(
        """
    def @main(%x: Tensor[(4, 8), float32]) { @twice(nn.relu(nn.relu(%x))) }
    def @twice(%y) { add(%y, meta[relay.Constant][0]) }
    """.replace("meta[relay.Constant][0]", "2f")
    )
    text = repr(module)
    assert text.startswith("<Module @main(%x: Tensor[(4, 8), float32]), @twice, 3 operators (")
    assert "2 nn.relu" in text
    assert text.endswith("1 weights (4e-06 MB)>")


def test_a_large_module_is_one_line() -> None:
    text = repr(rt.zoo.build("mlp"))
    assert "\n" not in text
    assert "weights (" in text


def test_notebooks_get_the_text_without_weights() -> None:
    html = rt.zoo.build("mlp")._repr_html_()
    assert "nn.dense" in html
    assert len(html) < 5000

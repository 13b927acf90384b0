"""The page in a real browser: what it shows on wide and narrow screens, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from tests.cli.page.conftest import KERNELS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no browser: install chromium")

SERIES = {"light": (0x25, 0x63, 0xB8), "dark": (0x6E, 0xA8, 0xF2)}
"""The colour of bars and of the first curve."""

ASK = """<script>
const visible = (what) => [...document.querySelectorAll(what)].filter(
  (each) => each.getBoundingClientRect().width > 0.5);
const rows = () => [...document.querySelector("table.kernels").tBodies].map(
  (body) => body.rows[0].cells[1].dataset.value.split(" ")[0]);
const heads = document.querySelectorAll("table.kernels th button");
const found = {};
found.wide = document.documentElement.scrollWidth - innerWidth;
found.dots = visible(".roofline .dot").length;
found.curves = visible(".progress svg [id^=line2d] path").length;
found.svgs = visible("figure svg").length;
found.first = rows();
heads[5].click();
found.by_limit = rows();
heads[1].click();
found.by_name = rows();
found.hidden = visible("pre").length;
document.querySelector("tbody button.open").click();
found.open = visible("pre")[0].textContent;
found.whole = visible(".figures .whole dd").map((each) => each.textContent);
document.querySelector("#kernel1-1 button.open").click();
found.nodes = visible("#kernel1-1 .detail p").map((each) => each.textContent).join(" ");
document.title = JSON.stringify(found);
</script>"""


def browse(folder: Path, *words: str) -> str:
    """What the browser prints."""
    assert BROWSER is not None
    own = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    profile = f"--user-data-dir={folder / 'profile'}"
    ended = subprocess.run(
        [BROWSER, *own, profile, *words], capture_output=True, text=True, timeout=90, check=True
    )
    return ended.stdout


@pytest.mark.parametrize("width", [1300, 500])
def test_everything_is_there_and_fits(network_page: Path, tmp_path: Path, width: int) -> None:
    asking = tmp_path / "asking.html"
    asking.write_text(network_page.read_text().replace("</body>", f"{ASK}</body>"))
    dom = browse(tmp_path, f"--window-size={width},1400", "--dump-dom", asking.as_uri())
    title = re.search(r"<title>(.*?)</title>", dom, flags=re.DOTALL)
    assert title is not None
    found: dict[str, Any] = json.loads(unescape(title[1]))
    assert found["wide"] <= 0, "nothing is wider than the screen"
    assert found["svgs"] == 2, "one size of each figure"
    assert found["dots"] == len(KERNELS)
    assert found["curves"] >= 1 + len(KERNELS)
    assert found["first"] == ["stem:", "max_pool2d", "transpose"]
    assert found["by_limit"] == ["max_pool2d", "stem:", "transpose"]
    assert found["by_name"] == ["max_pool2d", "stem:", "transpose"]
    assert found["whole"] == ["4 ms", "3.50x"]
    assert "stem, block/conv <i>, block/conv2" in found["nodes"]
    assert found["hidden"] == 0
    assert "algorithm: rows(block=8)" in found["open"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_has_the_colours_of_the_scheme(
    network_page: Path, tmp_path: Path, scheme: str
) -> None:
    picture = tmp_path / "picture.png"
    chosen = f"--blink-settings=preferredColorScheme={int(scheme == 'light')}"
    words = (chosen, "--window-size=1300,1700", f"--screenshot={picture}")
    browse(tmp_path, *words, network_page.as_uri())
    pixels = np.round(matplotlib.image.imread(picture)[..., :3] * 255).astype(int)
    assert pixels.shape == (1700, 1300, 3)
    brightness = np.median(pixels)
    assert brightness > 230 if scheme == "light" else brightness < 40
    coloured = np.abs(pixels - np.array(SERIES[scheme])).max(axis=-1) < 8
    rows = coloured.sum(axis=1)
    bars = 0.85 * (3e-3 / 3.502e-3) * 400
    assert rows.max() > bars, "the bar of the kernel that takes most of the time"
    assert (rows[600:1100] > 200).any(), "the curve of that kernel"

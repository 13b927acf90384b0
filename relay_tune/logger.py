"""The logger of the package, `relay_tune`: silent until the program that uses it says otherwise.

logging.basicConfig(level=logging.INFO) shows how tuning goes on, DEBUG also what builds do.
"""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("relay_tune")
LOGGER.addHandler(logging.NullHandler())

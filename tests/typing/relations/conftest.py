"""Failures in the tests that `cases` makes show the types that were compared."""

import pytest

pytest.register_assert_rewrite("tests.typing.relations.cases")

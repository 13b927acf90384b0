"""What tests of passes about branches share: the fixtures of the passes of the language."""

from tests.transform.language.conftest import answer_kept

__all__ = ["answer_kept"]

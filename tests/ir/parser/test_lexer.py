import pytest

from relay_tune.errors import ParseError
from relay_tune.ir.parser.lexer import Token, TokenKind, tokenize
from relay_tune.ir.source import Source


def tokens(text: str) -> list[Token]:
    return tokenize(Source(text, "test"))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("%x", "LOCAL x"),
        ("%12", "GRAPH 12"),
        ("@main", "GLOBAL main"),
        ("nn.conv2d", "NAME nn.conv2d"),
        ("%a/b", "LOCAL a/b"),
        ("%x / %y", "LOCAL x SYMBOL / LOCAL y"),
        ("%x/%y", "LOCAL x SYMBOL / LOCAL y"),
        ('%"input:0"', "LOCAL input:0"),
        ('@"a b"', "GLOBAL a b"),
        ('"a\\"\\n\\u0041"', 'STRING a"\nA'),
        ("%x.0.1", "LOCAL x PROJECTION 0 PROJECTION 1"),
        ("%0.1", "GRAPH 0 PROJECTION 1"),
        ("1.5e-3f16", "NUMBER 1.5e-3f16"),
        ("-inff", "SYMBOL - NUMBER inff"),
        ("inff_1", "NAME inff_1"),
        ("let letter", "KEYWORD let NAME letter"),
        ("=>->==!=<=>=", "SYMBOL => SYMBOL -> SYMBOL == SYMBOL != SYMBOL <= SYMBOL >="),
        ("1 // one\n2", "NUMBER 1 NUMBER 2"),
        ("1 /* a /* b */ c */ 2", "NUMBER 1 NUMBER 2"),
        (
            "Tensor[(n // 2), int8] // end",
            "NAME Tensor SYMBOL [ SYMBOL ( NAME n SYMBOL // NUMBER 2 SYMBOL ) SYMBOL , "
            "NAME int8 SYMBOL ]",
        ),
        ("Tensor(1 // 2)", "NAME Tensor SYMBOL ( NUMBER 1 SYMBOL // NUMBER 2 SYMBOL )"),
        ("1\r\n2", "NUMBER 1 NUMBER 2"),
        ("", ""),
    ],
)
def test_tokens(text: str, kinds: str) -> None:
    found = tokens(text)
    assert found[-1].kind is TokenKind.END
    assert " ".join(f"{token.kind.name} {token.text}" for token in found[:-1]) == kinds


def test_what_follows_the_metadata_header_is_not_read() -> None:
    found = tokens('1 #[metadata] {"%%%": "unclosed')
    assert [token.kind for token in found] == [TokenKind.NUMBER, TokenKind.METADATA]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$", "no meaning"),
        ("%", "A name must follow '%'"),
        ("%1x", "A name must follow '%'"),
        ('"abc\n"', "not closed"),
        ('"\\q"', "wrong escape"),
        ("/* /* */", "never closed"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        tokens(text)


def test_spans_count_lines_and_columns_from_one() -> None:
    source = Source("ab\n  cd\n", "file")
    span = source.span(5, 7)
    assert (span.line, span.column, span.end_line, span.end_column) == (2, 3, 2, 5)

"""The documentation says what is so: commands, outputs, names, links."""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from relay_tune.cli.main import VERBS, command_parser
from tests.docs_console import PAGES, ROOT, Console, consoles, output_of
from tests.docs_pages import FENCED, blocks, mentioned_commands, name_of

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FILE = re.compile(r"`((?:relay_tune|search|cost_model|logs|tests|benchmarks|docs)/[\w./*]+)`")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
FORM = ("In the context of ", ", facing ", ", we decided ", ", to achieve ", ", accepting ")


def python_blocks() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for block in blocks(page, "python"):
            yield name_of(page), block


def options_of(verb: str) -> set[str]:
    """All options of a verb and of its actions."""
    stack = [command_parser()]
    options: set[str] = set()
    while stack:
        parser = stack.pop()
        for action in parser._actions:
            options.update(action.option_strings)
            if isinstance(action, argparse._SubParsersAction):
                stack += [p for name, p in action.choices.items() if name not in VERBS]
                stack += [action.choices[verb]] if verb in action.choices else []
    return options


@pytest.mark.parametrize("console", list(consoles()), ids=lambda each: each.command)
def test_commands_print_what_the_page_says(console: Console) -> None:
    """To write the pages anew: python -m tests.docs_console."""
    assert output_of(console.command) == console.printed


def test_there_are_console_blocks() -> None:
    assert len(list(consoles())) >= 8


@pytest.mark.parametrize(("page", "command"), mentioned_commands())
def test_commands_have_known_verbs_and_options(page: str, command: str) -> None:
    _, verb, *words = command.split()
    if verb.isupper():  # `tune VERB --help`
        return
    assert verb in VERBS, f"{page}: {command}"
    known = options_of(verb)
    for word in words:
        if word.startswith("-"):
            assert word in known, f"{page}: {command}"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_described(verb: str) -> None:
    assert f"| `tune {verb} " in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(("page", "block"), list(python_blocks()))
def test_python_names_exist(page: str, block: str) -> None:
    modules: dict[str, object] = {}
    tree = ast.parse(block)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert hasattr(import_module(str(node.module)), alias.name), page
        elif isinstance(node, ast.Import):
            for alias in node.names:
                modules[alias.asname or alias.name] = import_module(alias.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            assert module is None or hasattr(module, node.attr), f"{page}: {ast.unparse(node)}"


def test_the_program_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = blocks(ROOT / "README.md", "python")
    exec(compile(program, "README.md", "exec"), {})
    assert (tmp_path / "tuning.db").exists()


def test_the_commands_of_the_readme_use_extras_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"install '\.\[([\w,]+)\]'", (ROOT / "README.md").read_text())
    assert len(named) == 2  # report, and the tests
    for extras in named:
        assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_ci_runs_the_tests_as_the_readme_does() -> None:
    (command,) = re.findall(r"bin/(python -m pytest [^\n]*)", (ROOT / "README.md").read_text())
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        if "://" not in link:
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", DECISIONS, ids=name_of)
def test_a_decision_begins_with_one_sentence_of_the_form(page: Path) -> None:
    title, first, *_ = page.read_text().split("\n\n")
    assert title.startswith("# ")
    sentence = " ".join(first.split())
    places = [sentence.find(part) for part in FORM]
    assert places[0] == 0
    assert -1 not in places
    assert places == sorted(places)
    assert sentence.endswith(".")
    assert ". " not in sentence


def test_decisions_have_numbers_of_their_own() -> None:
    numbers = [page.name[:4] for page in DECISIONS]
    assert len(set(numbers)) == len(numbers)


def test_the_index_has_each_decision_once_under_its_title() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()
    listed = re.findall(r"^- (\d+)\. \[(.+)\]\((\S+)\)$", index, re.MULTILINE)
    titles = {page: page.read_text().splitlines()[0].removeprefix("# ") for page in DECISIONS}
    expected = [
        (str(int(page.name[:4])), re.sub(r"^\d+\. ", "", title), page.name)
        for page, title in titles.items()
    ]
    assert sorted(listed) == sorted(expected)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_decisions_that_are_named_exist(page: Path) -> None:
    known = {int(path.name[:4]) for path in DECISIONS}
    for number, link in re.findall(r"decision (\d+)(?:\]\(\S*?(\d{4})-)?", page.read_text()):
        assert int(number) in known
        assert not link or int(link) == int(number)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_exist(page: Path) -> None:
    for name in FILE.findall(FENCED.sub("", page.read_text())):
        assert list(ROOT.glob(name)), name


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_in_files_that_are_named_exist(page: Path) -> None:
    """Such as `TileChoice` (`relay_tune/schedule/choice.py`)."""
    for name, file in re.findall(r"`(\w+)`\s+\(`([\w/]+\.py)`", page.read_text()):
        assert re.search(rf"\b{name}\b", (ROOT / file).read_text()), f"{name} in {file}"


def test_the_architecture_names_every_folder() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for package in (ROOT / "relay_tune").iterdir():
        if (package / "__init__.py").exists():
            assert re.search(rf"^relay_tune/{package.name} ", text, re.MULTILINE), package.name


FOLDERS = sorted((ROOT / "relay_tune").rglob("__init__.py"))
ROW = re.compile(r"^([a-z_]+(?:, [a-z_]+)*) {2,}(?=\S)", re.MULTILINE)


@pytest.mark.parametrize("file", FOLDERS, ids=name_of)
def test_the_files_that_a_folder_names_exist(file: Path) -> None:
    """Rows of a table in the docstring begin with names of files or folders, then two spaces."""
    table = "\n".join((ast.get_docstring(ast.parse(file.read_text())) or "").split("\n\n")[1:])
    for row in ROW.findall(table):
        for name in row.split(", "):
            assert list(file.parent.glob(f"{name}*")), name

"""Commands in README, docs and examples: each `hbtable ...` of a block or within a sentence is a command with those
options. What they do is run by other tests."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from hbtable.launch.cli.command import main
from tests.harness.commands import ROOT

_FENCED: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_TYPED: Final = r"^ *(?:\$ )?(?:\w+=\S+ )*(?:venv/|\.venv/)?(?:bin/)?(hbtable [a-z].*)$"
_IN_FENCE: Final = re.compile(_TYPED, re.MULTILINE)
_INDENTED: Final = re.compile(_TYPED.replace("^ *", "^ {4,}"), re.MULTILINE)
_IN_PROSE: Final = re.compile(r"`(?:bin/)?(hbtable [a-z][^`]*)`")
_ENDS: Final = {"...", "|", "||", "&", "&&", ";", ">", ">>", "<", "2>&1"}
PAGES: Final = [
    page.relative_to(ROOT)
    for page in [
        Path(ROOT, "README.md"),
        Path(ROOT, "CONTRIBUTING.md"),
        *sorted(Path(ROOT, "docs").rglob("*.md")),
        *sorted(Path(ROOT, "examples").rglob("*.md")),
    ]
]


def commands_of(text: str) -> Iterator[str]:
    for block in _FENCED.findall(text):
        yield from _IN_FENCE.findall(block)
    yield from _INDENTED.findall(text)
    for found in _IN_PROSE.findall(text):
        yield " ".join(found.split())


def wrong(command: str) -> str:
    """What there is not of it; "" when there is all."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:  # a quotation mark of a sentence
        words = command.split()
    found: click.Command = main
    for word in words[1:]:
        if word in _ENDS or word == "--":
            break
        if word.startswith("-"):
            name = word.partition("=")[0]
            options = {one for each in found.params for one in (*each.opts, *each.secondary_opts)}
            if name.startswith("--") and name not in options | {"--help"}:
                return name
        elif isinstance(found, click.Group):
            if word.rstrip(",") not in found.commands:
                return word
            found = found.commands[word.rstrip(",")]
    return ""


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_each_command_is_there_with_its_options(page: Path) -> None:
    unknown = {command: wrong(command) for command in commands_of(Path(ROOT, page).read_text())}
    assert {command: what for command, what in unknown.items() if what} == {}


def test_what_is_not_there_is_noticed() -> None:
    fenced = "```text\nhbtable user add --secrets x | cat --no\n$ A=1 hbtable start\n```\n"
    text = f"Say `hbtable start --date DIR`.\n\n    hbtable coppy --from thrift://a:1\n\n{fenced}"
    assert [wrong(command) for command in commands_of(text)] == ["--secrets", "", "coppy", "--date"]

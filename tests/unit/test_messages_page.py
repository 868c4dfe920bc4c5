"""docs/manual/messages.md has every sentence that asks somebody to act, beside its kin, with a meaning and a cure."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.harness.commands import ROOT
from tests.harness.told_messages import messages_that_ask, texts_that_ask

_PAGE: Final = Path(ROOT, "docs", "manual", "messages.md")
_FAMILY: Final = re.compile(
    r"^### (?P<title>.+)\n\n(?P<said>(?:.+\n|\n(?!```))+)\n```text\n(?P<texts>(?:.+\n)+)```$", re.MULTILINE
)


def families() -> dict[str, list[str]]:
    """The messages of each family by its title."""
    return {found["title"]: found["texts"].splitlines() for found in _FAMILY.finditer(_PAGE.read_text())}


def test_every_message_that_asks_is_on_the_page() -> None:
    there = {text for texts in families().values() for text in texts}
    missing = [f"{told.place}: {told.text}" for told in messages_that_ask() if told.text not in there]
    assert missing == [], f"add the texts to the families of {_PAGE.name} whose meaning and cure are theirs"


def test_every_message_on_the_page_is_in_the_program() -> None:
    told = {told.text for told in messages_that_ask()}
    gone = [text for texts in families().values() for text in texts if text not in told]
    assert gone == [], f"take these out of {_PAGE.name}, or write them as the program has them now"


def test_every_message_is_there_once_in_a_family_with_a_meaning_and_a_cure() -> None:
    page = _PAGE.read_text()
    assert list(families()) == re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert sum(map(len, families().values())) == len({text for texts in families().values() for text in texts})
    for family in _FAMILY.finditer(page):
        meaning, what_to_do, cure = family["said"].partition("**What to do.** ")
        assert len(meaning.split()) > 5, family["title"]
        assert what_to_do, family["title"]
        assert cure.strip(), family["title"]


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("raise Unavailable(f'{path} waits; try again')", ["... waits; try again"]),
        ("raise LimitExceeded(f'{a}{b} is too long: send less')", ["... is too long: send less"]),
        ("CURE = 'stop the server, then run `hbtable repair`'", ["stop the server, then run `hbtable repair`"]),
        ("logger.warning('%s could not be written: %s', path, error)", ["... could not be written: ..."]),
        ("self._log.error('one' if alone else 'two of them', path)", ["two of them"]),
        ("logger.info('the server starts')", []),
        ("raise InvalidConfiguration('a and b need each other')", ["a and b need each other"]),
        ("raise NotFound('there is no such row')", []),
        ("'''A docstring; try again.'''", []),
        ("option(help='give a name; try again')", []),
    ],
)
def test_which_texts_ask(source: str, texts: list[str]) -> None:
    assert [text for text, _ in texts_that_ask(source)] == texts

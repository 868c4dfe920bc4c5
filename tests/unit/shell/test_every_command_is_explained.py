"""What a command, and a filter, is not complete without."""

import pytest

from hbtable.filters.arguments import FILTER_NAMES
from hbtable.shell.catalogue import ENTRIES
from hbtable.shell.commands.listing import SHOWN_FILTERS
from hbtable.shell.help_texts import of_command


@pytest.mark.parametrize("name", ENTRIES)
def test_every_command_has_a_text(name: str) -> None:
    text = of_command(name)
    assert text is not None
    assert not text.endswith(": no text"), f"write a section `== {name}` in hbtable/shell/help/commands.txt"


def test_every_filter_that_can_be_written_is_shown() -> None:
    assert sorted(SHOWN_FILTERS.encode().split()) == sorted(FILTER_NAMES)

"""What a command, and a filter, is not complete without."""

import importlib

import pytest

from hbtable.filters.arguments import FILTER_NAMES
from hbtable.shell import absent
from hbtable.shell.catalogue import ENTRIES, sections
from hbtable.shell.commands.tables.listing import SHOWN_FILTERS
from hbtable.shell.help_texts import groups, of_command


@pytest.mark.parametrize("name", ENTRIES)
def test_every_command_has_a_function_a_text_and_a_known_group(name: str) -> None:
    entry = ENTRIES[name]
    assert callable(getattr(importlib.import_module(f"hbtable.shell.commands.{entry.module}"), entry.function))
    assert of_command(name), f"write what it does below `== {name}` in hbtable/shell/help/commands.txt"
    assert entry.group in {*groups(), "language", "none"}
    assert name not in absent.REASONS, "it is here: take it off hbtable/shell/absent.py"


def test_sections_without_a_text_share_the_next_one() -> None:
    text = """== desc | none | d.describe | 1..1
== describe | ddl | d.describe | 1..
Shows.

== p | none | g.p | 0..
Says.
"""
    found = {name: (entry.text, entry.most) for name, entry in sections(text)}
    assert found == {"desc": ("Shows.", 1), "describe": ("Shows.", -1), "p": ("Says.", -1)}


@pytest.mark.parametrize("header", ["p | g.p | 0..", "p | none | g.p | 0", "p | none | p | 0..", "p"])
def test_a_section_that_is_not_complete_is_refused(header: str) -> None:
    with pytest.raises(ValueError, match="== p"):
        list(sections(f"== {header}\nSays.\n"))
    with pytest.raises(ValueError, match=r"== p .*the section has no text"):
        list(sections("== p | none | g.p | 0..\n"))


def test_a_group_lists_its_commands_and_those_of_hbase_that_are_not_there() -> None:
    tools = groups()["tools"]
    assert {"balancer", "normalize"} <= set(tools)
    assert tools == sorted(set(tools))
    known = {name for commands in groups().values() for name in commands}
    assert known <= {*ENTRIES, *absent.REASONS}


def test_every_filter_that_can_be_written_is_shown() -> None:
    assert sorted(SHOWN_FILTERS.encode().split()) == sorted(FILTER_NAMES)

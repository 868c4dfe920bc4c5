"""Generated programs can call whatever is public of Database, Table and Batch, with every argument. What they cannot is
listed here, with the reason; a new method or argument is to be among their calls."""

import inspect
from typing import Any

import pytest

import hbtable
from tests.integration import test_library_programs, test_open_and_connect_agree, test_schema_programs

pytestmark = pytest.mark.integration

IMPORTED = (test_library_programs, test_open_and_connect_agree, test_schema_programs)
"""Each adds to the alphabet."""
OUTSIDE = {
    "Database.close": "ends the database of all programs",
    "Database.table": "every call on a table begins with it",
    "Database.regions_of": "what Table.regions() stands on",
    "Database.sizes_of": "what Table.sample_row_keys() stands on",
    "Database.usage_of": "what Table.usage() stands on",
}


def methods(kind: Any) -> dict[str, set[str]]:
    return {
        name: set(inspect.signature(method).parameters) - {"self"}
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize("kind", [hbtable.Database, hbtable.Table, hbtable.Batch])
def test_programs_can_call_every_method_with_every_argument(kind: Any) -> None:
    alphabet = test_library_programs.ALPHABET
    missing = {
        f"{kind.__name__}.{name}": sorted(arguments - alphabet.get(name, set()))
        for name, arguments in methods(kind).items()
        if name not in alphabet or not arguments <= alphabet[name]
    }
    assert missing.keys() == {name for name in OUTSIDE if name.startswith(f"{kind.__name__}.")}, missing


def test_there_is_a_way_to_see_a_method_that_no_program_calls() -> None:
    assert "close" in methods(hbtable.Database)
    assert "close" not in test_library_programs.ALPHABET

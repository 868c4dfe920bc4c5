"""What `alter` puts under METADATA and CONFIGURATION of a family."""

import pytest

from hbtable.hbase.admin.structs import AdminFamily
from hbtable.shell.arguments.schema import Given, family


@pytest.mark.parametrize("group", ["METADATA", "CONFIGURATION"])
def test_an_attribute_that_came_by_thrift2_is_replaced_and_taken_away(group: str) -> None:
    """It stands under its name alone."""
    base = AdminFamily(b"f", attributes={"owner": "me", "IS_MOB": "TRUE"})

    def altered(value: bytes) -> dict[str, str]:
        given: Given = {group.encode(): {b"owner": value, b"IS_MOB": b""}}
        return dict(family(given, base, pytest.fail).attributes or {})

    assert altered(b"you") == {f"{group}/owner": "you", "IS_MOB": "TRUE"}
    assert altered(b"") == {"IS_MOB": "TRUE"}

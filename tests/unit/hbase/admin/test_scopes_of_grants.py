"""What a grant of our own service is on."""

import pytest

from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.errors import InvalidRequest
from hbtable.hbase.admin.grants import scope_of
from hbtable.hbase.admin.structs import AdminGrant
from hbtable.hbase.errors import BadArgument


@pytest.mark.parametrize(
    ("place", "scope"),
    [
        ((), GLOBAL),
        ((b"sales",), Scope(b"sales")),
        ((b"", b"orders"), of_table(b"orders")),
        ((b"", b"sales:orders", b"f", b""), of_table(b"sales:orders", b"f", b"")),
    ],
)
def test_a_grant_is_taken_as_it_is_listed_too(place: tuple[bytes, ...], scope: Scope) -> None:
    """A list names the namespace of each table, and may be handed back."""
    assert scope_of(AdminGrant("ann", "RW", *place)) == scope
    assert scope_of(AdminGrant("ann", "RW", *scope)) == scope


@pytest.mark.parametrize(
    ("namespace", "table", "said"),
    [
        (b"sales", b"orders", "the table orders is not in the namespace sales"),
        (b"default", b"sales:orders", "the table sales:orders is not in the namespace default"),
        (b"sa les", b"orders", "the table orders is not in the namespace sa les"),
    ],
)
def test_a_table_of_another_namespace_than_the_one_that_is_named_is_refused(
    namespace: bytes, table: bytes, said: str
) -> None:
    """The grant would be on a table that the operator did not mean."""
    with pytest.raises(BadArgument, match=said):
        scope_of(AdminGrant("ann", "RW", namespace, table))


@pytest.mark.parametrize(
    "place",
    [(b"", b"t", b"", b"q"), (b"", b"", b"f"), (b"n", b"", b"f"), (b"", b"", b"", b""), (b"a:b",), (b"", b"a b")],
)
def test_half_a_place_is_none(place: tuple[bytes, ...]) -> None:
    with pytest.raises((BadArgument, InvalidRequest)):
        scope_of(AdminGrant("ann", "RW", *place))

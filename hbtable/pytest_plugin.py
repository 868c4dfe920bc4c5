"""Fixtures for the tests of programs that use hbtable. pytest finds them where hbtable is installed:

    def test_a_page_is_kept(hbtable_db):                  # an hbtable.Database in memory, a new one for each test
        hbtable_db.create_table("webtable", ["contents"]).put("com.cnn.www", {"contents:": "<html>"})

    def test_a_page_is_served(hbtable_server):            # a port for happybase, without a table
        connection = happybase.Connection(hbtable_server.host, hbtable_server.port)

Neither writes a file or starts a process. With pytest-xdist each worker has a server of its own.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

import hbtable

if TYPE_CHECKING:
    from hbtable.launch.embedded import EmbeddedDatabase

_KEPT_NAMESPACES: Final = frozenset((b"default", b"hbase"))


class HbtableServer(NamedTuple):
    """A server in this process, at the same port in all tests of the session."""

    host: str
    """127.0.0.1, which no other machine reaches."""
    port: int
    """For any client of HBase's Thrift: it was free when the session began to use it."""
    db: "EmbeddedDatabase"
    """The tables behind the port, to prepare or to look at without a client. It is closed with the session, not by a
    test."""


@pytest.fixture
def hbtable_db() -> "Iterator[EmbeddedDatabase]":
    """A database in memory, empty, closed after the test; what hbtable.open(":memory:") gives."""
    with hbtable.open(":memory:") as db:
        yield db


@pytest.fixture(scope="session")
def _hbtable_session_server() -> Iterator[HbtableServer]:
    with hbtable.open(":memory:") as db:
        yield HbtableServer("127.0.0.1", db.serve(port=0), db)


@pytest.fixture
def hbtable_server(_hbtable_session_server: HbtableServer) -> Iterator[HbtableServer]:
    """A server without tables, and with no namespace but HBase's own two. After the test all that it made is dropped;
    connections may stay open."""
    yield _hbtable_session_server
    _empty(_hbtable_session_server.db)


def _empty(db: "EmbeddedDatabase") -> None:
    while True:
        try:
            for table in db.tables():
                db.delete_table(table, disable=True)
            for namespace in db.namespaces():
                if namespace not in _KEPT_NAMESPACES:
                    db.delete_namespace(namespace)
        except hbtable.NotFound:
            continue  # what the test left running dropped it first
        except hbtable.Unavailable as error:
            pytest.fail(f"what this test made cannot be dropped for the next one: {error}", pytrace=False)
        return

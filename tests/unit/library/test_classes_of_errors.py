"""An error of the server arrives in hbtable.connect() as the class that it has in hbtable.open(), with its sentence."""

from typing import Any

import pytest
from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.protocol.cybin import TCyBinaryProtocol
from thriftpy2.transport.memory import TCyMemoryBuffer

from hbtable import errors
from hbtable.hbase.codec.answers import BinaryDialect, CompactDialect
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.errors import declared, too_large
from hbtable.library.refusals import translated
from hbtable.shell.connection import server_error
from hbtable.shell.errors import BrokenOff, CannotConnect, NotLetIn, ServerError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.HbtableError)]
INTERFACE = ThriftInterface()
METHODS = {method.name: method for each in (INTERFACE.methods, INTERFACE.admin_methods) for method in each.values()}


def made(kind: type[errors.HbtableError]) -> errors.HbtableError:
    if issubclass(kind, errors.Corruption):
        return kind("folder/file", 17, "the block does not check")
    return kind("one sentence: of the table t")


def arrived(method: str, sent: Any, compact: bool = False) -> Any:
    """The exception as a client reads it."""
    dialect = CompactDialect(INTERFACE) if compact else BinaryDialect(INTERFACE, strict=True)
    buffer = TCyMemoryBuffer(dialect.declared(METHODS[method], 1, sent))
    protocol = TCompactProtocol(buffer) if compact else TCyBinaryProtocol(buffer)
    protocol.read_message_begin()
    result = METHODS[method].result_class()
    protocol.read_struct(result)
    return getattr(result, sent.field)


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("method", ["adminMutateRows", "adminTables", "atomicIncrement", "mutateRows", "getTableNames"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_class_arrives(kind: type[errors.HbtableError], method: str, compact: bool) -> None:
    error = made(kind)
    found = translated(server_error(arrived(method, declared(error, METHODS[method].declares), compact)))
    # Of a scanner HBase's clients know the sentence.
    assert (type(found), str(found)) == (
        kind,
        "scanner ID is invalid" if kind is errors.ScannerNotFound else str(error),
    )


def test_a_request_that_is_too_large() -> None:
    found = translated(server_error(arrived("mutateRows", too_large("9 bytes are more than 8"))))
    assert type(found) is errors.LimitExceeded


def test_a_class_of_a_newer_server_becomes_the_nearest_known() -> None:
    error = ServerError(
        "java.io.IOException", "no", classes=["RackIsFull", "OutOfSpace", "Unavailable", "HbtableError"]
    )
    assert type(translated(error)) is errors.OutOfSpace


@pytest.mark.parametrize(
    ("java_class", "message", "kind"),
    [
        ("org.apache.hadoop.hbase.TableNotFoundException", "t", errors.TableNotFound),
        ("org.apache.hadoop.hbase.DoNotRetryIOException", "Field is not a long, it's 3 bytes wide", errors.NotACounter),
        ("java.io.IOException", "later", errors.Unavailable),
        ("java.lang.IllegalArgumentException", "Row length 40000 is > 32767", errors.LimitExceeded),
        ("com.example.NobodyKnows", "what", errors.HbtableError),
    ],
)
def test_of_a_server_that_tells_no_class_it_follows_from_javas(java_class: str, message: str, kind: type) -> None:
    assert type(translated(ServerError(java_class, message))) is kind


@pytest.mark.parametrize("classes", [["__builtins__"], ["Iterable"], ["class_names"], [""]])
def test_a_name_that_is_no_class_of_errors_is_passed_over(classes: list[str]) -> None:
    assert errors.nearest_class(classes) is errors.HbtableError


def test_a_break_leaves_the_outcome_of_changes_unknown_and_of_nothing_else() -> None:
    broken = BrokenOff("it broke off during mutateRows")
    assert type(translated(broken)) is errors.OutcomeUnknown
    assert type(translated(broken, changes_nothing=True)) is errors.Unavailable
    assert type(translated(CannotConnect("no server"))) is errors.Unavailable


def test_a_wrong_password_is_not_a_server_that_is_away() -> None:
    assert type(translated(NotLetIn("the user or the password is wrong"))) is errors.NotAuthenticated

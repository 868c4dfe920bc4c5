"""Errors on their way through Thrift: what the gateway sends as Java's, the library raises as ours."""

import pytest

from hbtable import errors
from hbtable.errors import HbtableError, StaleLocation, Unavailable, class_names
from hbtable.hbase.errors import _CLASSES, DO_NOT_RETRY, PLAIN, declared
from hbtable.library.refusals import spelled_out, translated
from hbtable.shell.errors import ServerError

OF_THEIR_OWN = [(kind, java_class) for kind, java_class, _ in _CLASSES if java_class not in (PLAIN, DO_NOT_RETRY)]
"""Those whose class says which error it is."""


@pytest.mark.parametrize(("kind", "java_class"), OF_THEIR_OWN)
def test_an_error_with_a_java_class_of_its_own_comes_back(kind: type[HbtableError], java_class: str) -> None:
    sent = declared(kind("a message"), {"io": 1})
    assert sent.message == f"{java_class}: a message"
    # Of two classes that are one of Java's, who tells no class of ours means the other one.
    expected = {StaleLocation: Unavailable, errors.NotAuthenticated: errors.AccessDenied}.get(kind, kind)
    assert isinstance(translated(ServerError(java_class, "a message")), expected)
    assert isinstance(translated(ServerError(java_class, "a message", classes=class_names(kind()))), kind)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errors.TableNotFound("ns:t"), "there is no table ns:t; tables() has the names of all"),
        (
            errors.TableNotDisabled("t"),
            "table t is enabled, and has to be disabled for this: call disable_table() first",
        ),
        (
            errors.TableNotEnabled("t is disabled."),
            "table t is disabled, and has to be enabled for this: call enable_table() first",
        ),
        (errors.InvalidRequest("Row length is 0"), "the row is empty: a row key has 1 to 32,767 bytes"),
        (
            errors.LimitExceeded("Row length 40000 is > 32767"),
            "the row is 40000 bytes long: a row key has 1 to 32,767 bytes",
        ),
    ],
)
def test_what_hbase_says_in_a_word_is_spelled_out_for_callers(error: HbtableError, message: str) -> None:
    said = spelled_out(error)
    assert (type(said), str(said)) == (type(error), message)


@pytest.mark.parametrize(
    "error", [errors.TableExists("t"), errors.TableNotFound("table t was dropped"), errors.Conflict("t")]
)
def test_other_messages_stay(error: HbtableError) -> None:
    assert spelled_out(error) is error

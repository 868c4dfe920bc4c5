"""Errors on their way through Thrift: what the gateway sends as Java's, the library raises as ours."""

import pytest

from hbtable.errors import HbtableError, StaleLocation, Unavailable
from hbtable.hbase.errors import _CLASSES, DO_NOT_RETRY, PLAIN, declared
from hbtable.library.refusals import translated
from hbtable.shell.errors import ServerError

OF_THEIR_OWN = [(kind, java_class) for kind, java_class, _ in _CLASSES if java_class not in (PLAIN, DO_NOT_RETRY)]
"""Those whose class says which error it is."""


@pytest.mark.parametrize(("kind", "java_class"), OF_THEIR_OWN)
def test_an_error_with_a_java_class_of_its_own_comes_back(kind: type[HbtableError], java_class: str) -> None:
    sent = declared(kind("a message"), {"io": 1})
    assert sent.message == f"{java_class}: a message"
    expected = Unavailable if kind is StaleLocation else kind
    assert isinstance(translated(ServerError(java_class, "a message")), expected)

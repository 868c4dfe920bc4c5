"""An HDFS that asks for Kerberos closes connections without a word: errors say what to do, until it answers once."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.errors import Stalled
from hbtable.fs.hdfs.first_answer import FirstAnswer

HINT = 'set hdfs.sign_in to "kerberos"'


class Scripted:
    """Calls at once."""

    def call(self, kind: str, deadline_seconds: float, function: Callable[..., Any], *arguments: object) -> Any:
        return function(*arguments)


def fails(error: Exception) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


SILENT = pytest.mark.parametrize(
    "error",
    [
        Stalled("no answer within 2 s"),
        RuntimeError("RPC listener disconnected"),
        OSError("RPC listener disconnected"),
    ],
)


@SILENT
def test_before_the_first_answer_the_option_is_named(error: Exception) -> None:
    calls = FirstAnswer(Scripted())
    for _ in range(2):
        with pytest.raises(type(error), match=f"{error}; .*{HINT}"):
            calls.call("hdfs-names", 1.0, fails(error))


@SILENT
@pytest.mark.parametrize("refused", [False, True])
def test_after_an_answer_it_is_not(error: Exception, refused: bool) -> None:
    """Also after one that refuses: the NameNode has read the call."""
    calls = FirstAnswer(Scripted())
    if refused:
        with pytest.raises(RuntimeError, match="Safe"):
            calls.call("hdfs-names", 1.0, fails(RuntimeError('RPCError("SafeModeException", "x")')))
    else:
        assert calls.call("hdfs-names", 1.0, lambda: 5) == 5
    with pytest.raises(type(error)) as failed:
        calls.call("hdfs-names", 1.0, fails(error))
    assert HINT not in str(failed.value)


def test_arguments_and_other_errors_pass() -> None:
    calls = FirstAnswer(Scripted())
    assert calls.call("hdfs-names", 1.0, divmod, 7, 5) == (1, 2)
    with pytest.raises(FileNotFoundError):
        FirstAnswer(Scripted()).call("hdfs-names", 1.0, fails(FileNotFoundError("a")))

"""The sentence for who says a name alone to an HDFS that asks for a ticket of Kerberos.

Such a NameNode closes the connection without a word, hdfs-native begins again until its caller gives up, and the error
says "no answer within 2 s" or "RPC listener disconnected". So the errors until a NameNode's first answer name the
option.
"""

from collections.abc import Callable
from typing import Final, TypeVar, final

from hbtable.errors import Stalled
from hbtable.fs.blocking_calls import BlockingCalls
from hbtable.switches import switches

T = TypeVar("T")

_DISCONNECTED: Final = "RPC listener disconnected"
_HINT: Final = (
    'no NameNode has answered this process yet: where HDFS asks for Kerberos, set hdfs.sign_in to "kerberos" '
    '(docs/hdfs.md: "An HDFS with Kerberos")'
)


@final
class FirstAnswer:
    """Implements BlockingCalls by another one's calls, and explains those that fail before anything was answered."""

    def __init__(self, calls: BlockingCalls) -> None:
        self._calls = calls
        self._answered = False

    @switches
    def call(self, kind: str, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        """As BlockingCalls.call()."""
        try:
            result = self._calls.call(kind, deadline_seconds, function, *arguments)
        except Stalled as error:
            if self._answered:
                raise
            raise Stalled(f"{error}; {_HINT}") from error
        except (RuntimeError, OSError) as error:
            if _DISCONNECTED not in str(error):
                self._answered |= not isinstance(error, ConnectionError)
                raise
            if self._answered:
                raise
            raise type(error)(f"{error}; {_HINT}") from error
        self._answered = True
        return result

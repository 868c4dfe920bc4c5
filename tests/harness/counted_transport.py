"""A transport that counts what is asked through it: each call by its name, and the rows of its answers as `rows`."""

from collections import Counter
from collections.abc import Callable
from typing import Any


class _Counted:
    """A service of a tablet server."""

    def __init__(self, inner: Any, asked: Counter[str]) -> None:
        self._inner = inner
        self._asked = asked

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._inner, name)

        def call(*arguments: Any) -> Any:
            self._asked[name] += 1
            answer = method(*arguments)
            if name == "scan":
                self._asked["rows"] += len(answer.rows)
            elif name == "read_rows":
                self._asked["rows"] += len(answer)
            return answer

        return call


class CountedTransport:
    """Implements rpc.transport.Transport for one role. `asked` is added to."""

    def __init__(self, inner: Any, asked: Counter[str]) -> None:
        self._inner = inner
        self._asked = asked

    def tablet_service(self, incarnation: str) -> Any:
        return _Counted(self._inner.tablet_service(incarnation), self._asked)

    def tablet_admin(self, incarnation: str) -> Any:
        return _Counted(self._inner.tablet_admin(incarnation), self._asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

"""A part of the program with some of its methods replaced."""

from typing import Any


class DelegatingFake:
    """Everything that a subclass does not name goes to `inner`."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

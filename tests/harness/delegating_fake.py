"""A part of the program with some of its methods replaced."""

from typing import Any, ClassVar


class DelegatingFake:
    """Everything that a subclass does not name goes to `inner`. What it does name has to be there: a fake of a method
    that was renamed would never be called, and say nothing."""

    OWN: ClassVar[tuple[str, ...]] = ()
    """Methods for the test that makes the fake."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        for kind in type(self).__mro__[: type(self).__mro__.index(DelegatingFake)]:
            for name, value in vars(kind).items():
                if callable(value) and not name.startswith("_") and name not in self.OWN:
                    assert hasattr(inner, name), f"{type(self).__name__} names {name}, which {inner!r} does not have"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

from collections.abc import Callable

VERSION1: int

class error(Exception): ...  # noqa: N801, N818

class Pattern:
    search: Callable[..., object]

def compile(pattern: str, flags: int = ...) -> Pattern: ...

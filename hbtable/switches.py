"""The mark of functions that may switch to other tasks.

Tasks are greenlets, and a stretch of code that calls nothing with this mark is atomic: no other task runs in between.
Much of the code rests on that, so a machine reads the mark. A test (tests/architecture) looks for calls of marked
functions in unmarked ones, as far as names tell. Each simulation looks at the stack of each switch, on which only
marked functions may be (testing/simulated/stack_check.py).

Functions inside of functions need no mark: whoever calls them has it. The mark costs a call nothing.
"""

from collections.abc import Callable
from types import CodeType
from typing import Any, Final, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_MARKED: Final[set[CodeType]] = set()


def switches(function: F) -> F:
    """Other tasks may run before the function returns, and whenever its iterator is advanced. Write it next to `def`,
    below other decorators."""
    _MARKED.add(function.__code__)
    return function


def switches_if_given(function: F) -> F:
    """The function switches only inside of an argument that does: a callable that it calls, an iterator that it
    advances. Whoever hands such an argument over has the mark @switches; all other callers need none."""
    _MARKED.add(function.__code__)
    return function


def is_marked(code: CodeType) -> bool:
    """Whether a function has either mark."""
    return code in _MARKED

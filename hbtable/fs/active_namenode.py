"""The rule by which one of several NameNodes is believed, for both ways to HDFS.

Hadoop keeps a deposed NameNode from changing anything: the journal takes no more edits of it. It goes on answering
questions until it tries one: one that was frozen, or cut off from the others, says of a file that was made since that
it is not there. Who asks whether a log is fenced must not hear that. So:

* One NameNode is asked until it is away. Before another one is believed it has to make an edit, of the root folder's
  time: so it is active after everything that was heard before, and knows all of it. Where there is no root folder yet,
  the nearest folder above it serves: no folder is made by asking.
* An answer that something is not there counts once the same NameNode has made an edit after it.
* An edit shows nothing any more when another NameNode was found active before its answer came.

A deposed NameNode does not survive such an edit: it ends itself.

Who only looks (`hbtable check`) may have no right to edits, and must change nothing. For him each of the others is
asked instead, and none that answers may say that it is active, too. That is weaker: of a deposed NameNode whose
successor is dead it knows nothing. He acknowledges nothing by what he hears.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar, final

N = TypeVar("N")


@final
class Belief(Generic[N]):
    """The NameNode that is believed. `lock`: where many threads ask."""

    def __init__(self, lock: AbstractContextManager[object] | None = None) -> None:
        self._lock = lock or nullcontext()
        self.active: N | None = None
        """The one that proved itself last, and was not found away since."""

    def proved(self, one: N, before: N | None) -> bool:
        """It proved itself; `before` was believed when that began. False when yet another one is believed meanwhile."""
        with self._lock:
            if self.active == before:
                self.active = one
            return self.active == one

    def forget(self, one: N) -> None:
        """It is away, or was not active."""
        with self._lock:
            if self.active == one:
                self.active = None


def folders_to_edit(root: str) -> Iterator[str]:
    """The absolute path `root`, and the folders above it, nearest first: the first that exists is changed."""
    while root != "/":
        yield root
        root = root.rpartition("/")[0] or "/"
    yield "/"


def two_say_so(one: str, other: str) -> str:
    """The reason not to believe one while another one says that it is active, too; for who only looks."""
    return f"{other} says that it is active as {one} does: one of them was deposed and does not know it yet"

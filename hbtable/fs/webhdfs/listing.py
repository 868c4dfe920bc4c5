"""Every file below a folder, through WebHDFS: LISTSTATUS_BATCH by thousands, LISTSTATUS where that is not known.

Batches come in the order of names, each after the last name of the one before: a file that was there from the first
request to the last is listed, whatever comes and goes beside it. A folder that goes meanwhile took its files with it.
"""

import json
from collections.abc import Iterator
from typing import Final, NamedTuple, final

from hbtable.errors import Unavailable
from hbtable.fs.webhdfs.errors import is_absent, unread
from hbtable.fs.webhdfs.namenodes import NameNodes
from hbtable.fs.webhdfs.status import NodeStatus, status_of
from hbtable.switches import switches

_UNKNOWN_OPERATION: Final = (400, 501)


class FolderEntry(NamedTuple):
    """One entry of a folder; of a file that was asked for itself the name is ""."""

    name: str
    status: NodeStatus


@final
class Listing:
    """Lists folders by absolute path. Remembers whether the server knows batches."""

    def __init__(self, namenodes: NameNodes) -> None:
        self._namenodes = namenodes
        self._batches = True

    @switches
    def files_below(self, folder: str) -> Iterator[tuple[str, NodeStatus]]:
        """*Switches.* Absolute path and status of each file, in no order. Nothing when there is no such folder."""
        waiting = [folder]
        while waiting:
            above = waiting.pop()
            for name, status in self._children(above):
                if not name:
                    continue  # `folder` is a file
                if status.is_file:
                    yield f"{above}/{name}", status
                else:
                    waiting.append(f"{above}/{name}")

    @switches
    def _children(self, folder: str) -> Iterator[FolderEntry]:
        after = ""
        while self._batches:
            answer = self._namenodes.ask(
                "GET", folder, "LISTSTATUS_BATCH", parameters={"startAfter": after} if after else None
            )
            error = answer.error
            if error is not None and error.status in _UNKNOWN_OPERATION:
                self._batches = False
                break
            if error is not None and is_absent(error):
                return
            if error is not None:
                raise unread(error, folder)
            children, remaining = _parsed_batch(folder, answer.response.body)
            yield from children
            if not remaining or not children:
                return
            after = children[-1].name
        # After a batch only if the server changed in between: what comes twice is the same file.
        answer = self._namenodes.ask("GET", folder, "LISTSTATUS")
        if answer.error is not None:
            if is_absent(answer.error):
                return
            raise unread(answer.error, folder)
        yield from _parsed(folder, answer.response.body)


def _parsed_batch(folder: str, body: bytes) -> tuple[list[FolderEntry], int]:
    try:
        listing = json.loads(body)["DirectoryListing"]
        remaining = listing["remainingEntries"]
        if not isinstance(remaining, int):
            raise TypeError("remainingEntries is no number")
        return _children(listing["partialListing"]), remaining
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"the listing of {folder} is not understood: {error!r}") from error


def _parsed(folder: str, body: bytes) -> list[FolderEntry]:
    try:
        return _children(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"the listing of {folder} is not understood: {error!r}") from error


def _children(answer: dict[str, dict[str, list[dict[str, object]]]]) -> list[FolderEntry]:
    return [
        FolderEntry(str(fields["pathSuffix"]), status_of(fields)) for fields in answer["FileStatuses"]["FileStatus"]
    ]

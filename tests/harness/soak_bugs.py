"""What lets a database wear out, planted: one bug for each pattern of `make soak`, whose bounds must find it.

Operations are as few as show it. Some take two patches, because two parts exclude the bug: what reads step over also
makes a flush worth it, and what a life leaves is collected at its end and at the next one's start.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from hbtable.client import client
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.master.files.collector import CollectionTimes
from hbtable.master.tablets import normalizer
from hbtable.metadata.locator import Locator
from hbtable.rpc.connections import RpcConnectionPool
from hbtable.runtime.network.sockets import Connections
from hbtable.tablet.compactions import making, planning
from hbtable.tablet.reads import hot_columns
from tests.campaigns import soak_lives

_serve, _compacted = Connections.serve, making.compacted


class SoakBug(NamedTuple):
    """`says`: in the bound that finds it."""

    pattern: str
    count: int
    says: str
    patches: tuple[tuple[Any, str, Any], ...]


def _never_expiring(pairs: Any, rules: Any, _now_millis: int, *others: Any) -> Any:
    return _compacted(pairs, rules, 0, *others)


def _nothing(*_arguments: object) -> tuple[()]:
    return ()


def _no_reason(*_arguments: object) -> str:
    return ""


_UNSETTLED: Final = (hot_columns, "_is_settled", lambda *_: False)
_UNFLUSHED: Final = (planning, "why_flush", _no_reason)
_DEARER, _PILED, _STAYS = "more and more cells", "files pile up", "what is deleted stays"
_OBJECTS, _DESCRIPTORS = "objects stay", "descriptors stay"

SOAK_BUGS: Final = (
    SoakBug("lock", 1500, _DEARER, (_UNSETTLED, _UNFLUSHED)),
    SoakBug("column lock", 1500, _DEARER, (_UNSETTLED, _UNFLUSHED)),
    SoakBug("queue", 1500, _DEARER, (_UNFLUSHED,)),
    SoakBug("counter", 3000, _DEARER, (_UNSETTLED,)),
    SoakBug("clicks", 6000, _STAYS, ((making, "compacted", _never_expiring), (planning, "wholly_expired", _nothing))),
    SoakBug("emptied", 1000, "emptied tablets stay", ((normalizer, "plans", _nothing),)),
    SoakBug("tables", 150, _OBJECTS, ((Locator, "forget_table", lambda *_: None),)),
    SoakBug("absent names", 15_000, _OBJECTS, ((client, "MAX_CACHED_TABLES", 10**9),)),
    SoakBug(
        "short lives",
        30,
        _PILED,
        ((CollectionTimes, "soon", lambda _: None), (EmbeddedCluster, "_tidy", lambda _: None)),
    ),
    SoakBug("peers", 50, _DESCRIPTORS, ((RpcConnectionPool, "close_ended", lambda _: False),)),
)
"""Without `connections` (descriptors_kept) and `regroup`, which has a test of its own."""


@contextmanager
def planted(bug: SoakBug) -> Iterator[None]:
    with ExitStack() as undo:
        undo.enter_context(patch.object(soak_lives, "SETTLE_SECONDS", 0.2))
        for where, name, wrong in bug.patches:
            undo.enter_context(patch.object(where, name, wrong))
        yield


@contextmanager
def descriptors_kept() -> Iterator[None]:
    """A server that keeps a descriptor for each client's connection."""
    kept: list[int] = []

    def serve(self: Connections, socket: Any, address: Any) -> None:
        kept.append(os.open(os.devnull, os.O_RDONLY))  # not its own: the client would never see the end
        _serve(self, socket, address)

    try:
        with patch.object(soak_lives, "SETTLE_SECONDS", 0.2), patch.object(Connections, "serve", serve):
            yield
    finally:
        for descriptor in kept:
            os.close(descriptor)

"""The DataNodes as the NameNode lists them: how many there are, and their addresses of another port.

A redirect names a node by its HTTP address, `excludedatanodes` wants the address it moves blocks at, by number: any
other form is silently ignored. Both are in the NameNode's page of metrics (/jmx), which old and new versions have. When
it cannot be had, nodes are left out by host name as it stands, and a cluster counts as small.
"""

import json
from collections.abc import Callable, Collection
from typing import Final, final

from hbtable.switches import switches

_FRESH_SECONDS: Final = 600.0
_ASK_AGAIN_SECONDS: Final = 10.0

LIST_TARGET: Final = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"


def parse_live_nodes(page: bytes, encrypted: bool = False) -> dict[str, str]:
    """Addresses for blocks, by HTTP address; `encrypted`: by HTTPS address. ValueError when the page is not as
    expected."""
    try:
        nodes = json.loads(json.loads(page)["beans"][0]["LiveNodes"])
        found = {}
        for name, node in nodes.items():
            port = str(node["infoSecureAddr" if encrypted else "infoAddr"]).rpartition(":")[2]
            address = f"{name.rpartition(':')[0] or name}:{port}"
            found[address] = str(node["xferaddr"])
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"the NameNode's list of DataNodes is not understood: {error!r}") from error
    return found


@final
class DataNodes:
    """Knows the DataNodes that live. `ask` fetches the page; ValueError when there is none. It is asked rarely, and by
    one task at a time. `encrypted`: redirects name HTTPS addresses."""

    def __init__(self, clock: Callable[[], float], ask: Callable[[], bytes], encrypted: bool = False) -> None:
        self._encrypted = encrypted
        self._clock = clock
        self._ask = ask
        self._nodes: dict[str, str] = {}
        self._asked: float | None = None
        self._asking = False

    @switches
    def count(self) -> int | None:
        """*Switches* at times. None when unknown."""
        self._look(_FRESH_SECONDS)
        return len(self._nodes) or None

    @switches
    def block_addresses(self, nodes: Collection[str]) -> list[str]:
        """*Switches* at times. What `excludedatanodes` understands, for nodes as redirects name them."""
        if any(node not in self._nodes for node in nodes):
            self._look(_ASK_AGAIN_SECONDS)
        known = self._nodes
        return [known[node] if node in known else node.rpartition(":")[0] or node for node in nodes]

    @switches
    def _look(self, fresh_seconds: float) -> None:
        now = self._clock()
        if self._asking or (self._asked is not None and now - self._asked < fresh_seconds):
            return
        self._asking, self._asked = True, now
        try:
            self._nodes = parse_live_nodes(self._ask(), self._encrypted)
        except ValueError:
            pass  # what was known before does
        finally:
            self._asking = False

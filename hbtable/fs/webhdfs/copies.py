"""Counts the DataNodes that hold the last block of a file, as the NameNode knows them; also of a file that is being
written, over hdfs:// as well.

A DataNode that died is on the NameNode's list for ten minutes. So one counts only while its heartbeats, one every three
seconds, are about as late as those of the others that hold the block.
"""

import json
from typing import Any, Final

from hbtable.errors import FileNotFound, Stalled, Unavailable
from hbtable.fs.webhdfs.errors import is_absent
from hbtable.fs.webhdfs.namenodes import NameNodes
from hbtable.switches import switches

_SILENT_MILLIS: Final = 10_000
"""Three heartbeats."""


@switches
def count_copies(namenodes: NameNodes, path: str) -> int | None:
    """`path` is absolute. None: the NameNode does not say, or the file has no block yet. FileNotFound."""
    try:
        answer = namenodes.ask("GET", path, "GET_BLOCK_LOCATIONS", parameters={"offset": "0", "length": "1"})
    except (Unavailable, Stalled):
        return None
    if answer.error is not None:
        if is_absent(answer.error):
            raise FileNotFound(f"there is no file {path}")
        return None
    try:
        return _living(json.loads(answer.response.body)["LocatedBlocks"]["lastLocatedBlock"])
    except (ValueError, KeyError, TypeError):
        return None


def _living(block: Any) -> int | None:
    if not block:
        return None
    heard = [int(node.get("lastUpdate", 0)) for node in block["locations"]]
    latest = max(heard, default=0)
    return sum(latest - millis < _SILENT_MILLIS for millis in heard)

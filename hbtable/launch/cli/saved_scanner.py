"""Reads the gateway's saved scanners for the ids that they used up, for `hbtable check` and `hbtable repair`."""

import json

from hbtable.errors import FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.launch.thrift_gateway import SCANNERS_FILE
from hbtable.switches import switches


@switches
def saved_scanner(fs: FileSystem) -> int:
    """The highest id among scanners that wait for the next start; 0 when there are none, and -1 when there is no
    such file: then there may never have been a gateway."""
    try:
        saved = json.loads(fs.read_file(SCANNERS_FILE))
        return max((int(one["id"]) for one in saved["scanners"]), default=0)
    except FileNotFound:
        return -1
    except (ValueError, KeyError, TypeError):
        return 0  # the start will say what is wrong with it

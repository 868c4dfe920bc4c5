"""The options that each command takes, and a message about those that it does not.

HBase's shell ignores an option in quotes that it does not know ('LIMITS' => 1), and so does this one; but it says so,
on standard error, where a script's answers are not.
"""

import difflib
from typing import Final

from hbtable.shell.arguments import schema
from hbtable.shell.language.literals import Value, shown

_CELLS: Final = (
    "COLUMN COLUMNS VERSIONS TIMESTAMP TIMERANGE FILTER MAXLENGTH FORMATTER FORMATTER_CLASS ATTRIBUTES AUTHORIZATIONS "
    "CONSISTENCY REGION_REPLICA_ID"
)
_SCAN: Final = (
    f"{_CELLS} STARTROW STOPROW ROWPREFIXFILTER LIMIT BATCH CACHE CACHE_BLOCKS RAW REVERSED ISOLATION_LEVEL READ_TYPE "
    "ALL_METRICS METRICS ALLOW_PARTIAL_RESULTS MAX_RESULT_SIZE"
)
_WRITE: Final = "ATTRIBUTES VISIBILITY"
_ALTER: Final = (
    f"NAME METHOD {' '.join(map(shown, schema.FAMILY_OPTIONS))} {' '.join(map(shown, schema.TABLE_OPTIONS))}"
)
_TABLE: Final = {
    "get": _CELLS,
    "scan": _SCAN,
    "count": f"INTERVAL {_SCAN}",
    "put": f"{_WRITE} TTL",
    "append": _WRITE,
    "incr": _WRITE,
    "delete": _WRITE,
    "deleteall": f"{_WRITE} ROWPREFIXFILTER CACHE",
    "create": f"{_ALTER} SPLITS SPLITS_FILE SPLITALGO NUMREGIONS",
    "alter": f"{_ALTER} delete",
    "alter_async": f"{_ALTER} delete",
    "normalize": "TABLE_NAME TABLE_NAMES REGEX NAMESPACE",
    "list_regions": "SERVER_NAME LOCALITY_THRESHOLD",
    "get_slowlog_responses": "LIMIT TABLE_NAME CLIENT_IP FILTER_BY_OP",
    "set_quota": "TYPE THROTTLE_TYPE USER TABLE NAMESPACE REGIONSERVER LIMIT SCOPE POLICY GLOBAL_BYPASS",
    "list_quota_snapshots": "TABLE NAMESPACE REGIONSERVER",
    "list_quotas": "USER TABLE NAMESPACE REGIONSERVER LIMIT",
}
OPTIONS: Final = {name: tuple(dict.fromkeys(options.split())) for name, options in _TABLE.items()}
_ANY: Final = frozenset(("create_namespace", "alter_namespace", "p", "puts", "print", "help"))
"""Their hashes hold what the person calls as he likes, or are values."""


def unknown_options(command: str, arguments: list[Value]) -> str:
    """A message that names the given options that the command does not have, and those that it has; "" when all are
    known."""
    if command in _ANY:
        return ""
    known = OPTIONS.get(command, ())
    given = [shown(key) for argument in arguments if isinstance(argument, dict) for key in argument]
    unknown = [name for name in given if name not in known]
    if not unknown:
        return ""
    if not known:
        return f"{command} takes no options, and was given {', '.join(unknown)}"
    near = [name for one in unknown for name in nearest(one, known)]
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{command} has no option {', '.join(unknown)}{meant}; it has {', '.join(known)}"


def nearest(word: str, known: tuple[str, ...] | list[str], most: int = 1) -> list[str]:
    """The known words most like `word`, best first."""
    upper = {name.upper(): name for name in known}
    return [upper[found] for found in difflib.get_close_matches(word.upper(), upper, most, 0.7)]

"""The bounds of each number of the configuration.

A value outside of them would make a server that cannot work: writers that wait for a compaction that never comes
(`stall_files = 1`), tasks that never run (`parallel_flushes = 0`), a deadline that is never reached (`nan`). What two
keys say together is checked in contradictions().
"""

import math
from collections.abc import Callable
from typing import Final

from hbtable.errors import InvalidConfiguration

Bounds = tuple[float, float]

_YEAR_SECONDS: Final = 366 * 86400
_GIB: Final = 1 << 30
_COUNT: Final[Bounds] = (1, 1_000_000)
_BY_ENDING: Final[dict[str, Bounds]] = {
    "_seconds": (0.001, 10 * _YEAR_SECONDS),
    "_bytes": (1, 1 << 50),
    "port": (0, 65535),
}
_NONE_IS_FINE: Final[Bounds] = (0, 10 * _YEAR_SECONDS)
_BY_KEY: Final[dict[tuple[str, str], Bounds]] = {
    ("thrift", "message_bytes"): (1024, _GIB),
    ("thrift", "answer_bytes"): (1024, _GIB),
    ("thrift", "cell_bytes"): (1, _GIB),
    ("thrift", "slow_seconds"): _NONE_IS_FINE,
    ("thrift", "busy_poll_seconds"): (0, 0.01),
    ("thrift", "slow_requests"): (0, 100_000),
    ("thrift", "compaction_wait_seconds"): _NONE_IS_FINE,
    ("thrift", "drain_seconds"): _NONE_IS_FINE,
    ("disk", "ballast_bytes"): (0, 1 << 50),
    ("log", "group_bytes"): (1, _GIB),
    ("log", "gather_seconds"): _NONE_IS_FINE,
    ("log", "rest_check_seconds"): _NONE_IS_FINE,
    ("log", "mark_seconds"): _NONE_IS_FINE,
    ("log", "cluster_mark_seconds"): _NONE_IS_FINE,
    ("log", "copies_check_seconds"): _NONE_IS_FINE,
    ("log", "tries_under_way"): (1, 64),
    ("log", "groups_under_way"): (1, 1024),
    ("tablet", "max_cell_bytes"): (1, _GIB),
    ("tablet", "max_write_bytes"): (64 << 20, 2 * _GIB),
    ("tablet", "merge_files"): (2, 1_000_000),
    ("tablet", "max_files"): (2, 1_000_000),
    ("tablet", "stall_files"): (3, 1_000_000),
    ("tablet", "write_wait_seconds"): _NONE_IS_FINE,
    ("tablet", "major_compaction_seconds"): _NONE_IS_FINE,
    ("tablet", "record_retry_seconds"): (0.001, 3600),
    ("tablet", "slice_seconds"): (0.0001, 1.0),
    ("tablet", "max_clock_skew_seconds"): (1, 86400),
    ("tablet", "output_bytes"): (1, _GIB),
    # Reads of METADATA have these limits, too: one that they cannot keep would stop the cluster.
    ("tablet", "request_seconds"): (1, 86400),
    ("tablet", "request_read_bytes"): (64 << 20, 1 << 50),
    ("tablet", "request_cells"): (100_000, 1 << 50),
    ("tablet", "worker_bytes"): (0, 1 << 50),
    ("tablet", "compaction_bytes_per_second"): (0, 1 << 50),
    ("maintenance", "split_bytes"): (0, 1 << 50),
    ("maintenance", "hot_split_share"): (0, 1000),
    ("maintenance", "hot_split_requests"): (1, 1_000_000_000),
    ("maintenance", "hot_split_seconds"): (1, 86400),
    ("maintenance", "parallel_flushes"): (1, 1000),
    ("maintenance", "parallel_compactions"): (1, 1000),
    ("maintenance", "period_seconds"): (0.001, 3600),
    ("maintenance", "roll_seconds"): (1, 1_000_000_000),
    ("maintenance", "retry_seconds"): _NONE_IS_FINE,
    ("cache", "block_cache_bytes"): (0, 1 << 50),
    ("memory", "limit_bytes"): (0, 1 << 50),
    ("master", "period_seconds"): (0.001, 3600),
    ("master", "suspended_seconds"): _NONE_IS_FINE,
    ("master", "balance_after_seconds"): _NONE_IS_FINE,
    ("master", "parallel_loads"): (1, 10_000),
    ("garbage", "trash_seconds"): _NONE_IS_FINE,
    ("garbage", "trash_bytes"): (0, 1 << 50),
    ("normalizer", "period_seconds"): _NONE_IS_FINE,
    ("normalizer", "min_age_seconds"): _NONE_IS_FINE,
    ("normalizer", "emptied_age_seconds"): _NONE_IS_FINE,
    ("normalizer", "min_tablets"): (2, 1_000_000),
    ("session", "session_seconds"): (0.1, 3600),
    ("session", "margin_share"): (0, 0.9),
    ("hdfs", "replication"): (1, 512),
    ("hdfs", "log_replication"): (1, 512),
    ("hdfs", "read_tries"): (1, 100),
    ("webhdfs", "replication"): (1, 512),
    ("webhdfs", "log_replication"): (0, 512),
    ("webhdfs", "read_tries"): (1, 100),
    ("rpc", "idle_connections"): (0, 1_000_000),
    ("rpc", "frame_bytes"): (1024, _GIB),
    ("rpc_server", "frame_bytes"): (1024, _GIB),
    ("rpc_server", "grace_seconds"): _NONE_IS_FINE,
    ("reachability", "period_seconds"): (0.01, 3600),
    ("reachability", "give_up_seconds"): _NONE_IS_FINE,
    ("gateway", "notice_seconds"): _NONE_IS_FINE,
    ("gateway", "leave_seconds"): _NONE_IS_FINE,
}


def bounds_of(section: str, key: str) -> Bounds:
    """(least, most), both allowed."""
    found = _BY_KEY.get((section, key))
    if found is not None:
        return found
    return next((bounds for ending, bounds in _BY_ENDING.items() if key.endswith(ending)), _COUNT)


def check(section: str, key: str, value: float, is_whole: bool, said: str) -> None:
    """InvalidConfiguration with bounds. `said`: where the value comes from, key and value as they were written.
    `is_whole`: the key takes no fractions."""
    least, most = bounds_of(section, key)
    if math.isnan(value) or not least <= value <= most:
        raise InvalidConfiguration(f"{said}: it lies between {_shown(least)} and {_shown(most)}")
    if is_whole and value != int(value):
        raise InvalidConfiguration(f"{said}: a whole number is due")


def contradictions(value: Callable[[str, str], float]) -> None:
    """Refuses values that contradict each other. `value(section, key)` is the one in force."""
    merge, most, stall = (value("tablet", key) for key in ("merge_files", "max_files", "stall_files"))
    if not merge <= most < stall:
        raise InvalidConfiguration(
            f"tablet.merge_files = {merge}, tablet.max_files = {most} and tablet.stall_files = {stall} must not fall, "
            "and the last must be above the second: writers would wait for a compaction that is never due"
        )
    cell, message = value("thrift", "cell_bytes"), value("thrift", "message_bytes")
    if cell > message:
        raise InvalidConfiguration(
            f"thrift.cell_bytes = {cell} is above thrift.message_bytes = {message}: no such cell could be sent"
        )


def _shown(bound: float) -> str:
    return f"{bound:,}" if bound >= 1_000 else f"{bound:g}"

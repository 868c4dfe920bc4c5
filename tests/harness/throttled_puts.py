"""Quotas of real processes: how many puts a table's throttle lets through, counted and not timed.

The limit is so many requests a day, so that a bucket does not fill while a test looks at it.
"""

import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Final

import happybase
from Hbase_thrift import IOError as HBaseError

from tests.harness.commands import LONG_SECONDS
from tests.harness.waiting import SOON_SECONDS, eventually

LIMIT: Final = 60
_THROTTLED: Final = b"org.apache.hadoop.hbase.quotas.RpcThrottlingException"
_OVER: Final = b"org.apache.hadoop.hbase.quotas.SpaceLimitingException"


def shell(port: int, line: str) -> str:
    """What a line of the shell prints."""
    command = [sys.executable, "-m", "hbtable", "shell", "--url", f"127.0.0.1:{port}", "-e", line]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(table: happybase.Table, row: bytes, reason: bytes = _THROTTLED, value: bytes = b"x") -> bool:
    """Puts the row once."""
    try:
        table.put(row, {b"f:a": value})
    except HBaseError as error:
        message = error.message if isinstance(error.message, bytes) else error.message.encode()
        assert message.startswith(reason), message
        return True
    return False


Put = Callable[[bytes], bool]
"""Puts a row once through some gateway: whether it was let through."""


def passed(port: int, scope: str, rows: list[bytes]) -> int:
    """The number of puts of these rows, which lie on all servers, that a throttle of LIMIT on the table lets pass."""
    with closing(happybase.Connection("127.0.0.1", port, timeout=120000)) as connection:
        return passed_through([partial(_accepted, connection.table("t"))], port, scope, rows, "TABLE => 't'")


def passed_through(gateways: Sequence[Put], port: int, scope: str, rows: list[bytes], whose: str) -> int:
    """The same of a throttle on `whose`, with each of the gateways in turn."""
    quota = f"set_quota TYPE => THROTTLE, THROTTLE_TYPE => WRITE, {whose}, LIMIT => '{{}}req/day', SCOPE => {{}}"
    shell(port, quota.format(1, "MACHINE"))
    for row in rows:
        eventually(lambda row=row: not gateways[0](row), SOON_SECONDS, f"no put of {row!r}")
    shell(port, quota.format(LIMIT, scope))
    for row in rows:  # on return each server has heard of it
        eventually(partial(gateways[0], row), SOON_SECONDS, f"a put of {row!r}")
    found = len(rows)
    while some := sum(put(row) for put in gateways for row in rows):
        found += some
    shell(port, f"set_quota TYPE => THROTTLE, THROTTLE_TYPE => WRITE_NUMBER, {whose}, LIMIT => NONE")
    for row in rows:
        eventually(partial(gateways[0], row), SOON_SECONDS, f"a put of {row!r} without a limit")
    return found


def _accepted(table: happybase.Table, row: bytes) -> bool:
    return not refused(table, row)


def fill_to_its_limit(port: int, row: bytes) -> None:
    """On return the table "t" took no put any more because of its size, and takes them again without the limit."""
    with closing(happybase.Connection("127.0.0.1", port, timeout=120000)) as connection:
        table = connection.table("t")
        shell(port, "set_quota TYPE => SPACE, TABLE => 't', LIMIT => '1M', POLICY => NO_INSERTS")
        for number in range(30):
            table.put(row + b"%d" % number, {b"f:a": random.Random(number).randbytes(100_000)})
        shell(port, "flush 't'")
        eventually(partial(refused, table, row, _OVER), 2 * SOON_SECONDS, "a table that is over its limit")
        shell(port, "set_quota TYPE => SPACE, TABLE => 't', LIMIT => NONE")
        eventually(lambda: not refused(table, row, _OVER), 2 * SOON_SECONDS, "a table without a limit")

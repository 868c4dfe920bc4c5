"""`hbtable shadow`: the proxy from its start to its report."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hbtable.shell.address import ServerAddress
from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ArgumentError
from hbtable.shell.shadow.proxy import Proxy, ServerPair
from hbtable.shell.shadow.repeating import ShadowSurroundings, WaitingRoom
from hbtable.shell.shadow.tally import ShadowTally, Verdict

_START_SECONDS: Final = 10.0
_REST_SECONDS: Final = 600.0
"""A scanner that no call came for is forgotten after these. HBase's own forget them after one or two minutes."""


@dataclass(frozen=True, slots=True)
class ShadowOptions:
    """The options of the command line."""

    primary: ServerAddress
    secondary: ServerAddress
    host: str
    port: int
    report: Path
    every_seconds: float = 10.0
    wait_seconds: float = 0.05
    """The longest time that an answer waits because the secondary is behind."""
    call_seconds: float = 10.0
    """For a call of the secondary."""
    clocks_seconds: float = 60.0
    """By so much the clocks of the two servers and of this machine may differ."""
    drain_seconds: float = 10.0
    waiting_calls: int = 20_000
    waiting_bytes: int = 256 << 20


def run_shadow(
    options: ShadowOptions,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    wall_millis: Callable[[], int],
    wait: Callable[[float], bool],
    say: Callable[[str], None],
) -> Verdict:
    """Until `wait`, which waits so many seconds, says True. ShellError, OSError."""
    room = WaitingRoom(options.waiting_calls, options.waiting_bytes)
    around = ShadowSurroundings(clock, sleep, wall_millis, room, options.clocks_seconds, say)
    around.lacking |= _lacking(options)
    around.tell_lacking(sorted(around.lacking), 0)
    proxy = Proxy(ServerPair(options.primary, options.secondary, options.call_seconds), around, options.wait_seconds)
    _write(options.report, around.tally)
    try:
        port = proxy.start(options.host, options.port)
    except OSError as error:
        raise ArgumentError(f"{options.host}:{options.port} cannot be listened on: {error.strerror}") from None
    primary = f"{options.primary.host}:{options.primary.port}"
    secondary = f"{options.secondary.host}:{options.secondary.port}"
    say(f"hbtable shadow on {options.host}:{port} answers from {primary}, and repeats on {secondary}")
    try:
        while not wait(options.every_seconds):
            around.scans.forget(clock() - _REST_SECONDS)
            _write(options.report, around.tally)
    finally:
        proxy.close(options.drain_seconds)
        _write(options.report, around.tally)
    say(around.tally.table())
    for message in around.tally.messages():
        say(message)
    return around.tally.verdict()


def _lacking(options: ShadowOptions) -> set[bytes]:
    """Tables that the secondary has not. CannotConnect when either server does not answer: both have to, once."""
    names: list[set[bytes]] = []
    for address in (options.primary, options.secondary):
        connection = ShellConnection(str(address), _START_SECONDS, call_seconds=_START_SECONDS)
        try:
            names.append(set(connection.hbase("getTableNames")))
        finally:
            connection.close()
    return names[0] - names[1]


def _write(path: Path, tally: ShadowTally) -> None:
    """Whole or not at all."""
    beside = path.with_name(f"{path.name}.new")
    with beside.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in tally.lines())
    os.replace(beside, path)

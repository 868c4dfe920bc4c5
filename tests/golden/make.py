"""Makes golden folders of one machine: what a version of hbtable wrote, and what it holds.

    python tests/golden/make.py CHECKOUT NAME

CHECKOUT is a work tree of hbtable at the commit whose formats are to be kept, NAME begins the files' names:
tests/golden/NAME-stopped.tar.xz, of a server that was stopped in order with a scanner open, and NAME-killed.tar.xz, of
one that was killed, started, and killed again. Each holds `data/`, the folder, and `model.json` (workload.py).

Run it before the first change of a format, with today's commit. A folder is never made anew: its point is its age.
"""

import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import happybase
import Hbase_thrift
from workload import COLUMN, FAMILY, FAMILY_VERSION, FAR_MILLIS, T0, VERSION, ModelTable, tables

_SMALL = ("-D", "tablet.merge_files=4", "-D", "log.segment_bytes=65536")


class Golden:
    """A server of CHECKOUT over one folder, and the model of what it was told."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self._env = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONUNBUFFERED": "1"}
        self._checkout = checkout
        self._folder = folder
        self._process: subprocess.Popen[str]
        self._connection: Any
        self.port = 0
        self.tables = tables()
        self.scanner: dict[str, Any] | None = None

    # ------------------------------------------------------------ the process

    def start(self, *options: str) -> None:
        command = [sys.executable, "-m", "hbtable", "start", "--data", str(self._folder), "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, *_SMALL, *options], stdout=subprocess.PIPE, env=self._env, cwd=self._checkout, text=True
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                self.port = int(found.group(1))
                self._connection = happybase.Connection("127.0.0.1", self.port, timeout=60000)
                return
        raise AssertionError("the server did not start")

    def end(self, number: signal.Signals) -> None:
        """Nothing happens when it has ended."""
        self._connection.close()
        self._process.send_signal(number)
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def shell(self, *commands: str) -> str:
        """Fails unless every command went well."""
        done = subprocess.run(
            [sys.executable, "-m", "hbtable", "shell", "--url", f"127.0.0.1:{self.port}", "-n"],
            input="\n".join(commands) + "\n",
            capture_output=True, text=True, env=self._env, cwd=self._checkout, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode or "ERROR" in done.stdout + done.stderr:
            raise AssertionError(f"{commands}: {done.stdout}{done.stderr}")
        return done.stdout

    # ------------------------------------------------------------ calls, each with its entry in the model

    def put(self, table: bytes, row: bytes, column: bytes, value: bytes, time: int, ttl: int = 0) -> None:
        mutation = Hbase_thrift.Mutation(isDelete=False, column=column, value=value)
        attributes = {b"_ttl": struct.pack(">q", ttl)} if ttl else {}
        self._connection.client.mutateRowTs(table, row, [mutation], time, attributes)
        self.tables[table].put(row, column, value, time)

    def delete(self, *deletes: tuple[str, bytes, bytes, bytes, int]) -> None:
        """Each: kind, table, row, column, time."""
        commands = []
        for kind, table, row, column, time in deletes:
            command = "deleteall" if kind in (COLUMN, FAMILY) else "delete"
            commands.append(f"{command} '{table.decode()}', '{row.decode()}', '{column.decode()}', {time}")
            self.tables[table].delete(kind, row, column, time)
        self.shell(*commands)

    def increment(self, row: bytes, column: bytes, amount: int, total: int) -> None:
        self._connection.table("counters").counter_inc(row, column, amount)
        self.tables[b"counters"].put(row, column, struct.pack(">q", total), None)

    def append(self, row: bytes, column: bytes, value: bytes, whole: bytes) -> None:
        self.shell(f"append 'counters', '{row.decode()}', '{column.decode()}', '{value.decode()}'")
        self.tables[b"counters"].put(row, column, whole, None)

    def open_scanner(self) -> None:
        """Of which half is read; the rest has to come after the next start."""
        scan = Hbase_thrift.TScan(startRow=b"plain-010", stopRow=b"plain-030", columns=[b"f:name"])
        number = self._connection.client.scannerOpenWithScan(b"plain", scan, {})
        read = [result.row for result in self._connection.client.scannerGetList(number, 8)]
        due = [place[0] for place, _ in self.tables[b"plain"].cells() if b"plain-010" <= place[0] < b"plain-030"
               and place[1:] == (b"f", b"name")]  # fmt: skip
        assert read == due[:8], read
        self.scanner = {"id": number, "rows": [row.decode("latin-1") for row in due[8:]]}

    # ------------------------------------------------------------ the result

    def model(self) -> bytes:
        shown = {_text(name): _table(table) for name, table in self.tables.items()}
        namespaces = {"space": {"owner": "somebody", "hbase.namespace.quota.maxtables": "50"}}
        whole = {"tables": shown, "namespaces": namespaces, "scanner": self.scanner}
        return json.dumps(whole, indent=1).encode("ascii")


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def _table(table: ModelTable) -> dict[str, Any]:
    cells = [
        [*map(_text, place), [[time, _text(value)] for time, value in versions]] for place, versions in table.cells()
    ]
    families = {_text(name): options for name, options in table.families.items()}
    return {
        "families": families,
        "attributes": table.attributes,
        "split_bytes": table.split_bytes,
        "enabled": table.enabled,
        "cells": cells,
    }


def fill(golden: Golden) -> None:
    """All that goes into SSTables, over several flushes and compactions."""
    golden.shell(
        "create_namespace 'space', {'owner' => 'somebody', 'hbase.namespace.quota.maxtables' => '50'}",
        *(table.shell for table in golden.tables.values()),
        "create 'dropped', 'f'", "put 'dropped', 'r', 'f:q', 'gone'", "disable 'dropped'", "drop 'dropped'",
        "balance_switch false",
    )  # fmt: skip
    for turn in range(3):
        _rows(golden, turn)
        golden.shell(*(f"flush '{name.decode()}'" for name in golden.tables))
    _bytes(golden)
    _deletes(golden, T0)
    golden.shell("flush 'kinds'", "flush 'plain'", "major_compact 'compressed'", "compact 'options'")
    _deletes(golden, T0 + 1000)
    golden.shell("flush 'kinds'")
    _regions(golden)
    _families(golden)
    _ranges(golden)
    golden.shell("flush 'space:attributed'", "alter 'space:attributed', {READONLY => 'true'}", "disable 'off'")
    golden.tables[b"space:attributed"].attributes.insert(1, ["READONLY", "true"])
    golden.tables[b"off"].enabled = False


def _rows(golden: Golden, turn: int) -> None:
    """A few versions of everything."""
    time = T0 + 10 * turn
    for number in range(40):
        golden.put(b"plain", b"plain-%03d" % number, b"f:name", b"name %d of turn %d" % (number, turn), time)
        golden.put(b"plain", b"plain-%03d" % number, b"g:%d" % turn, b"g", time)
    for name, table in golden.tables.items():
        if name in (b"plain", b"counters"):
            continue
        for family in table.families:
            for number in range(6):
                row = b"abcdefghijklmnopqrstuvwxyz"[number * 4 : number * 4 + 2]
                value = b"%s %d " % (family, number) * (1 + 90 * (name == b"compressed"))
                golden.put(name, row, family + b":q%d" % (number % 2), value, time)
    golden.put(b"options", b"own-ttl", b"long:q", b"lives for centuries", time, FAR_MILLIS)
    golden.increment(b"hits", b"f:n", 5, 5 * (turn + 1))
    golden.append(b"text", b"f:t", "ab"[turn % 2].encode(), b"aba"[: turn + 1])


def _bytes(golden: Golden) -> None:
    """Bytes that a format could stumble over."""
    golden.put(b"plain", b"\x00", b"f:\x00\xff", b"", T0)
    golden.put(b"plain", b"\x00\x01\xff", b"f:", b"\x00", T0)
    golden.put(b"plain", b"\xff" * 300, b"f:" + b"q" * 300, bytes(range(256)) * 300, 2**62)
    golden.put(b"plain", b"zero", b"f:at", b"in 1970", 0)
    golden.put(b"counters", b"own-ttl", b"f:q", b"lives long", T0, FAR_MILLIS)


def _deletes(golden: Golden, time: int) -> None:
    """Each kind, in a row and a column of its own, with puts on either side of it; in the new behaviour, too."""
    tables = {b"kinds": (b"f", b"g"), b"newbehavior": (b"f",)}
    deletes = []
    for table, families in tables.items():
        for kind, family in product((VERSION, COLUMN, FAMILY, FAMILY_VERSION), families):
            row = b"kinds-%d-%s" % (time - T0, kind.encode().replace(b" ", b"-"))
            for at, qualifier in product((1, 2, 3), (b":q", b":other")):
                golden.put(table, row, family + qualifier, b"%d" % at, time + at)
            if family == b"f":
                deletes.append((kind, table, row, b"f" if "family" in kind else b"f:q", time + 2))
    golden.delete(*deletes)
    for _, table, row, _, _ in deletes:
        golden.put(table, row, b"f:q", b"late", time + 2)  # masked, but where sequences count
        golden.put(table, row, b"f:q", b"later", time + 9)


def _regions(golden: Golden) -> None:
    """Splits, of which one is merged again."""
    golden.shell("split 'plain', 'plain-020'", "split 'plain', 'plain-030'", "split 'kinds', 'kinds-1000'")
    golden.shell(
        "major_compact 'plain'",
        "left = locate_region('plain', 'a').getRegionInfo.getEncodedName",
        "right = locate_region('plain', 'plain-025').getRegionInfo.getEncodedName",
        "merge_region left, right",
    )


def _families(golden: Golden) -> None:
    """A family that is dropped and added again: of the old one nothing may come back."""
    golden.shell("alter 'altered', {NAME => 'g', METHOD => 'delete'}", "alter 'altered', {NAME => 'g'}")
    golden.tables[b"altered"].drop(b"g")
    golden.put(b"altered", b"ab", b"g:q1", b"of the new family", T0)


def _ranges(golden: Golden) -> None:
    """Ranges of rows deleted at once, of files and of memory, in two tablets, and rows put there afterwards."""
    for turn in (1, 2):
        for number, prefix, family in product(range(10), (b"gone", b"kept"), (b"f", b"g")):
            golden.put(b"ranged", b"%s-%03d" % (prefix, number), family + b":q", b"%d" % turn, T0 + 10 * turn)
        golden.shell("flush 'ranged'", "deleteall 'ranged', {ROWPREFIXFILTER => 'gone', CACHE => 100}")
        golden.tables[b"ranged"].delete_rows(b"gone")
    golden.put(b"ranged", b"gone-003", b"f:q", b"new", T0 + 100)


def tail(golden: Golden, turn: int) -> None:
    """What only the log has, when the server is killed."""
    for number in range(0, 40, 3):
        golden.put(b"plain", b"plain-%03d" % number, b"f:name", b"tail %d" % turn, T0 + 500 + turn)
    for name, row in ((b"grouped", b"tail"), (b"options", b"tail"), (b"presplit", b"zz"), (b"altered", b"tail")):
        for family in golden.tables[name].families:
            golden.put(name, row, family + b":q", b"tail %d" % turn, T0 + 500 + turn)
    _deletes(golden, T0 + 2000 + 1000 * turn)
    golden.increment(b"hits", b"f:n", 100, 15 + 100 * turn)
    golden.put(b"counters", b"own-ttl", b"f:tail", b"lives long, too", T0 + turn, FAR_MILLIS)


def pack(folder: Path, model: bytes, path: Path) -> None:
    with tarfile.open(path, "w:xz") as archive:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            archive.add(file, f"data/{file.relative_to(folder)}", filter=_anonymous)
        entry = tarfile.TarInfo("model.json")
        entry.size = len(model)
        archive.addfile(entry, io.BytesIO(model))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


@contextmanager
def _new(checkout: Path) -> Iterator[tuple[Golden, Path]]:
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "data")
        golden = Golden(checkout, folder)
        golden.start()
        try:
            fill(golden)
            yield golden, folder
        finally:
            golden.end(signal.SIGKILL)


def main(checkout: Path, name: str) -> None:
    here = Path(__file__).resolve().parent
    with _new(checkout) as (golden, folder):
        tail(golden, 1)
        golden.open_scanner()
        golden.end(signal.SIGTERM)
        pack(folder, golden.model(), here / f"{name}-stopped.tar.xz")
    with _new(checkout) as (golden, folder):
        for turn in (1, 2):
            tail(golden, turn)
            golden.end(signal.SIGKILL)
            if turn == 1:
                golden.start("-D", "maintenance.period_seconds=60")  # so that it still needs the first log
        pack(folder, golden.model(), here / f"{name}-killed.tar.xz")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])

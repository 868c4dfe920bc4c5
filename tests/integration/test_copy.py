"""hbtable copy between two servers, by each of the services that it speaks: what hbtable.connect() then reads of both
is equal.
"""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hbtable.shell.copying.copy_parts import CopyPart
from tests.harness.commands import LONG_SECONDS
from tests.harness.copying import FAMILIES, LATER, cells, connected, copied, filled, lifetimes, mortal, words
from tests.harness.waiting import eventually
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[WarmServer]]:
    folder = tmp_path_factory.mktemp("copy")
    with (
        WarmServer(folder / "one", ["log.durability=os"]) as one,
        WarmServer(folder / "two", ["log.durability=os"]) as two,
    ):
        yield [one, two]


@pytest.mark.parametrize(
    "services",
    [
        ("thrift", "thrift"),
        ("thrift1", "thrift"),
        ("thrift2", "thrift"),
        ("thrift", "thrift1"),
        ("thrift", "thrift2"),
    ],
)
def test_all_versions_with_their_times(servers: list[WarmServer], tmp_path: Path, services: tuple[str, str]) -> None:
    name = "-".join(services)
    filled(servers[0], name, wide_cells=12_000)
    done = copied(servers, tmp_path / "state", "--tables", name, services=services)
    assert done.returncode == 0, done.stderr
    assert "copied 901 rows" in done.stderr
    found = cells(servers[1], name)
    assert found == cells(servers[0], name)
    assert dict(found)[b"k1-00001"][b"f:a"] == [(b"at 2001", 2001), (b"at 2000", 2000), (b"1", 1000)]
    assert [line for line in done.stderr.splitlines() if "alike" in line], done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("services", [("thrift", "thrift"), ("thrift2", "thrift"), ("thrift", "thrift2")])
def test_the_schema_comes_along(servers: list[WarmServer], tmp_path: Path, services: tuple[str, str]) -> None:
    name = "ns:schema-" + "-".join(services)
    with connected(servers[0]) as one, connected(servers[1]) as two:
        if b"ns" not in one.namespaces():
            one.create_namespace("ns")
        options: Any = {
            "max_versions": 7,
            "min_versions": 2,
            "ttl_seconds": 5000,
            "compression": "GZ",
            "bloom": "ROWCOL",
        }
        options |= {"in_memory": True, "block_bytes": 4096, "block_cache": False, "attributes": (("OWNER", "me"),)}
        one.create_table(name, {"f": options, "g": {}}, split_rows=[b"a", b"b\xff"])
        done = copied(servers, tmp_path / "state", "--tables", name, services=services)
        assert done.returncode == 0, done.stderr
        assert two.table(name).schema() == one.table(name).schema()
        rows = [(region["start_key"], region["end_key"]) for region in one.table(name).regions()]
        assert [(region["start_key"], region["end_key"]) for region in two.table(name).regions()] == rows


PROPERTIES = {"hbase.namespace.quota.maxtables": "20", "owner": "ü"}


@pytest.mark.parametrize("services", [("thrift", "thrift"), ("thrift2", "thrift"), ("thrift", "thrift2")])
def test_a_namespace_comes_along_with_its_properties(
    servers: list[WarmServer], tmp_path: Path, services: tuple[str, str]
) -> None:
    namespace = "with_" + "_".join(services)
    with connected(servers[0]) as one, connected(servers[1]) as two:
        one.create_namespace(namespace, PROPERTIES)
        one.create_table(f"{namespace}:t", ["f"])
        wanted = ("--tables", f"{namespace}:t")
        done = copied(servers, tmp_path / "state", *wanted, services=services)
        assert done.returncode == 0, done.stderr
        assert f"made namespace {namespace} with hbase.namespace.quota.maxtables => 20, owner => ü" in done.stderr
        assert two.namespace(namespace) == PROPERTIES

        two.alter_namespace(namespace, {"owner": "u"})
        done = copied(servers, tmp_path / "state", *wanted, services=services)
        assert done.returncode == 0, done.stderr
        assert f"namespace {namespace} of the target has owner => u and keeps that" in done.stderr
        assert two.namespace(namespace) == {"owner": "u"}


def test_thrift1_says_that_it_tells_no_properties_of_a_namespace(servers: list[WarmServer], tmp_path: Path) -> None:
    with connected(servers[0]) as one, connected(servers[1]) as two:
        one.create_namespace("untold", PROPERTIES)
        one.create_table("untold:t", ["f"])
        done = copied(servers, tmp_path / "state", "--tables", "untold:t", services=("thrift1", "thrift"))
        assert done.returncode == 0, done.stderr
        assert "what the source does not tell, alter in untold:t: " in done.stderr
        assert "properties of its namespace" in done.stderr
        assert two.namespace("untold") == {}


def test_on_a_terminal_it_says_how_far_it_came(servers: list[WarmServer], tmp_path: Path) -> None:
    filled(servers[0], "watched")
    shown = {}
    for more in ((), ("--quiet",)):
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        command = words(servers, tmp_path / "state", "--tables", "watched", *more)
        with subprocess.Popen(command, stderr=child) as running:
            os.close(child)
            shown[more] = b"".join(_told(parent)).decode()
            assert running.wait(LONG_SECONDS) == 0, shown[more]
        os.close(parent)
    assert re.search(
        r"\rcopying: [\d,]+ rows, [\d.]+ \w+, \d of 3 regions, [\d,]+ rows/s, [\d.]+ \w+/s\x1b\[K", shown[()]
    )
    assert "\rcomparing: " in shown[()]
    assert "\r\x1b[Kcopied 901 rows" in shown[()] or "\r\x1b[Kwatched" in shown[()]
    assert "\x1b" not in shown["--quiet",]
    assert "copied 901 rows" in shown["--quiet",]


def _told(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            yield os.read(terminal, 65536)
        except OSError:  # the process has ended
            return


def test_broken_off_it_goes_on(servers: list[WarmServer], tmp_path: Path) -> None:
    filled(servers[0], "broken", 9000, wide_cells=12_000)
    state = tmp_path / "state"
    # It follows for ever, so it is killed while it copies or rests, and never after its end.
    endless = words(servers, state, "--tables", "broken", "--workers", "1", "--follow", "--every", "86400")
    running = subprocess.Popen(endless, stderr=subprocess.DEVNULL)

    def begun() -> bool:
        return state.exists() and any(part["done"] for part in json.loads(state.read_text())["parts"])

    eventually(begun, 60, "a part is copied")
    running.kill()
    running.wait(LONG_SECONDS)
    assert any(part["done"] for part in json.loads(state.read_text())["parts"])
    done = copied(servers, state, "--tables", "broken")
    assert done.returncode == 0, done.stderr
    assert cells(servers[1], "broken") == cells(servers[0], "broken")
    assert not state.exists()


def test_it_copies_what_its_state_leaves_and_the_comparison_trusts_no_state(
    servers: list[WarmServer], tmp_path: Path
) -> None:
    filled(servers[0], "believed", 90)
    state = tmp_path / "state"
    address = [f"thrift://127.0.0.1:{server.port}" for server in servers]
    part = CopyPart(b"believed", b"", b"", b"k8")
    saved: dict[str, object] = {"format": 2, "kind": "copy", "from": address[0], "to": address[1], "began_millis": 1}
    state.write_text(json.dumps({**saved, "parts": [part.saved()]}))
    done = copied(servers, state, "--tables", "believed")
    assert done.returncode == 0, done.stderr
    assert "copied 11 rows" in done.stderr  # from k8 on: ten of them, and the last row
    assert "missing and written" in done.stderr
    assert cells(servers[1], "believed") == cells(servers[0], "believed")


@pytest.mark.parametrize("early", [False, True])
def test_what_is_written_meanwhile_follows(servers: list[WarmServer], tmp_path: Path, early: bool) -> None:
    name = f"followed-{early}"
    filled(servers[0], name)
    ended = threading.Event()
    written: list[int] = []
    more = ["--compare-early"] if early else []

    def write() -> None:
        with connected(servers[0]) as database:
            table = database.table(name)
            while not ended.is_set():
                table.put(b"new-%06d" % len(written), {b"f:a": b"1"})
                table.put(b"k1-00001", {b"g:count": b"%d" % len(written)})
                written.append(1)
                ended.wait(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        running = subprocess.Popen(
            words(servers, tmp_path / "state", "--tables", name, "--follow", "--every", "0.2", *more),
            stderr=subprocess.PIPE,
            text=True,
        )
        eventually(lambda: len(written) > 50, 60, "rows are written")
        row = b"new-%06d" % (len(written) - 1)

        def came() -> bool:
            with connected(servers[1]) as database:
                return database.table_exists(name) and bool(database.table(name).row(row))

        eventually(came, 60, "a row that was written meanwhile is at the target")
    finally:
        ended.set()
        writer.join()
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=LONG_SECONDS)
    assert running.returncode == 0, said
    assert "followed: " in said
    assert ("newer cells, digest" in said) is early
    assert ("not looked at, as programs wrote" in said) is early
    assert cells(servers[1], name) == cells(servers[0], name)


@pytest.mark.parametrize("which", [0, 1])
def test_a_server_that_is_started_again_is_waited_for(tmp_path: Path, which: int) -> None:
    with (
        WarmServer(tmp_path / "one", ["log.durability=os"]) as one,
        WarmServer(tmp_path / "two", ["log.durability=os"]) as two,
    ):
        both = [one, two]
        filled(one, "restarted", 90)
        running = subprocess.Popen(
            words(both, tmp_path / "state", "--tables", "restarted", "--follow", "--every", "0.1"),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("followed"):
                break
        with connected(one) as database:
            database.table("restarted").put(b"late", {b"f:a": b"1"})
        both[which].kill()
        for line in running.stderr:
            if "trying again" in line:
                break
        both[which].start()
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=LONG_SECONDS)
        assert running.returncode == 0, said
        assert cells(two, "restarted") == cells(one, "restarted")


def test_the_comparison_finds_what_differs_and_mends_it(servers: list[WarmServer], tmp_path: Path) -> None:
    filled(servers[0], "compared", 90)
    state = tmp_path / "state"
    assert copied(servers, state, "--tables", "compared").returncode == 0
    with connected(servers[1]) as database:
        table = database.table("compared")
        table.put(b"k0-00000", {b"f:a": b"another"}, timestamp=1000)
        table.put(b"surplus", {b"g:a": b"1"}, timestamp=3)
        table.put(b"k7-00007", {b"f:surplus": b"1"}, timestamp=3)
    with connected(servers[0]) as database:
        database.table("compared").delete(b"k8-00008")

    done = copied(servers, state, "--tables", "compared", "--anew")
    assert done.returncode == 1
    assert "only at the target: 4" in done.stderr
    assert "the two sides differ" in done.stderr
    with connected(servers[0]) as database:
        database.table("compared").put(b"k4-late", {b"f:a": b"1", b"f:b": b"2"}, timestamp=5)
    done = copied(servers, state, "--tables", "compared", "--delete")
    assert done.returncode == 0, done.stderr
    assert "only at the target and deleted: 4" in done.stderr
    assert "alike, missing and written: 2" in done.stderr
    assert cells(servers[1], "compared") == cells(servers[0], "compared")


def test_versions_that_come_to_light_by_a_delete_are_deleted_as_well(servers: list[WarmServer], tmp_path: Path) -> None:
    """The family keeps three of a column. A row that was deleted at the source had been copied as it was written."""
    filled(servers[0], "layers", 10)
    assert copied(servers, tmp_path / "state", "--tables", "layers").returncode == 0
    with connected(servers[1]) as database:
        for at in range(1, 9):
            database.table("layers").put(b"gone", {b"f:a": b"%d" % at}, timestamp=at)
    done = copied(servers, tmp_path / "state", "--tables", "layers", "--delete")
    assert done.returncode == 0, done.stderr
    assert "only at the target and deleted: 8" in done.stderr
    assert cells(servers[1], "layers") == cells(servers[0], "layers")


def test_thrift1_leaves_what_only_the_target_has(servers: list[WarmServer], tmp_path: Path) -> None:
    """It said that it had deleted the cell, a hundred times over."""
    filled(servers[0], "left", 10)
    assert copied(servers, tmp_path / "state", "--tables", "left").returncode == 0
    with connected(servers[1]) as database:
        database.table("left").put(b"more", {b"f:a": b"1"})
    done = copied(servers, tmp_path / "state", "--tables", "left", "--delete", services=("thrift", "thrift1"))
    assert done.returncode == 1
    assert "only at the target: 1\n" in done.stderr
    assert "deleted:" not in done.stderr
    assert "are left there: HBase's Thrift1 cannot delete single versions" in done.stderr
    with connected(servers[1]) as database:
        assert database.table("left").row(b"more") == {b"f:a": b"1"}


@pytest.mark.parametrize("target", ["thrift", "thrift1", "thrift2"])
def test_cells_keep_their_own_times_to_live(servers: list[WarmServer], tmp_path: Path, target: str) -> None:
    name = f"mortal-{target}"
    mortal(servers[0], name)
    done = copied(servers, tmp_path / "state", "--tables", name, services=("thrift", target))
    assert done.returncode == 0, done.stderr
    assert "times to live" not in done.stderr
    found = lifetimes(servers[1], name)
    assert found == lifetimes(servers[0], name)
    assert [one[-1] - LATER for one in found if one[-1]] == [7, 9, 8, 0, 0]
    assert [(row, column) for row, column, *_, ttl in found if ttl and row == b"wide"] == [
        (b"wide", b"f:09999"), (b"wide", b"f:11000"),
    ]  # fmt: skip
    assert len(found) == 5 + 12_001


def test_the_comparison_mends_times_to_live(servers: list[WarmServer], tmp_path: Path) -> None:
    name, state = "immortal", tmp_path / "state"
    mortal(servers[0], name)
    with connected(servers[1]) as database:
        table = database.create_table(name, FAMILIES)
        table.put(b"surplus", {b"f:a": b"1"})
        before = copied(servers, state, "--tables", name, services=("thrift2", "thrift"))
        assert before.returncode == 1
        assert "the source does not tell cells' own times to live (_ttl)" in before.stderr
        state.write_text(state.read_text().replace("thrift2://", "thrift://"))
        # All is copied, so it is the comparison that finds the five.
        done = copied(servers, state, "--tables", name, "--delete")
        assert done.returncode == 0, done.stderr
        assert "alike, missing and written: 5, only at the target and deleted: 1" in done.stderr
        assert lifetimes(servers[1], name) == lifetimes(servers[0], name)


def test_what_cannot_be_copied_is_said(servers: list[WarmServer], tmp_path: Path) -> None:
    state = tmp_path / "state"
    missing = copied(servers, state, "--tables", "nowhere")
    assert (missing.returncode, missing.stderr) == (1, "ArgumentError: the source has no table nowhere\n")
    with connected(servers[0]) as one, connected(servers[1]) as two:
        one.create_table("lacking", {"f": {}, "g": {}})
        two.create_table("lacking", {"f": {}})
    lacking = copied(servers, state, "--tables", "lacking")
    assert lacking.returncode == 1
    assert "table lacking of the target has no column family g: add it, or drop the table" in lacking.stderr
    state.write_text(json.dumps({"format": 2, "rows": 5}))
    another = copied(servers, state, "--tables", "lacking")
    assert another.returncode == 1
    assert f"{state} is no state of a copy, and is left as it is: name another file with --state" in another.stderr
    state.unlink()
    nobody = subprocess.run(
        [sys.executable, "-m", "hbtable", "copy", "--from", "thrift://127.0.0.1:1", "--state", str(state)],
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    assert nobody.returncode == 3
    assert "no server answers at 127.0.0.1:1" in nobody.stderr
    assert not state.exists()

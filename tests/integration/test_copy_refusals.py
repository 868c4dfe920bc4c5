"""What hbtable copy refuses, and says, before it writes and in the end."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.commands import LONG_SECONDS
from tests.harness.copying import FAMILIES, cells, connected, copied, filled, words
from tests.harness.server import ServerProcess
from tests.harness.waiting import eventually
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ServerProcess]]:
    folder = tmp_path_factory.mktemp("copy")
    with (
        WarmServer(folder / "one", ["log.durability=os"]) as one,
        WarmServer(folder / "two", ["log.durability=os"]) as two,
    ):
        yield [one, two]


def test_a_table_that_keeps_fewer_cells_is_refused_before_any_is_made(
    servers: list[ServerProcess], tmp_path: Path
) -> None:
    with connected(servers[0]) as one, connected(servers[1]) as two:
        one.create_table("fewer-first", {"f": {}})
        one.create_table("fewer", {"f": {"max_versions": 3}, "g": {"ttl_seconds": 900, "min_versions": 2}})
        two.create_table("fewer", {"f": {"max_versions": 2, "ttl_seconds": 800}, "g": {"ttl_seconds": 900}})
        one.table("fewer").put(b"row", {b"f:a": b"1"})
        words = ("--tables", "fewer-first,fewer")
        refused = copied(servers, tmp_path / "state", *words)
        assert refused.returncode == 1, refused.stderr
        assert "fewer cells of family f: VERSIONS 2, and the source 3, TTL 800 seconds, and the source FOREVER" in (
            refused.stderr
        )
        assert "fewer cells of family g: MIN_VERSIONS 0, and the source 2" in refused.stderr
        assert "--allow-fewer" in refused.stderr
        assert not two.table_exists("fewer-first")
        assert list(two.table("fewer").scan()) == []
        allowed = copied(servers, tmp_path / "state", *words, "--allow-fewer")
        assert allowed.returncode == 0, allowed.stderr
        assert "fewer cells of family g: MIN_VERSIONS" in allowed.stderr
        assert list(two.table("fewer").scan()) == [(b"row", {b"f:a": b"1"})]


def test_no_table_is_made_when_another_lacks_a_family(servers: list[ServerProcess], tmp_path: Path) -> None:
    with connected(servers[0]) as one, connected(servers[1]) as two:
        one.create_table("a-whole", {"f": {}})
        one.create_table("b-lacking", {"f": {}, "g": {}})
        two.create_table("b-lacking", {"f": {}})
        refused = copied(servers, tmp_path / "state", "--tables", "a-whole,b-lacking,c-nowhere")
        assert refused.returncode == 1
        assert "b-lacking of the target has no column family g" in refused.stderr
        assert "the source has no table c-nowhere" in refused.stderr
        assert not two.table_exists("a-whole")


def test_a_table_of_the_namespace_hbase_is_copied_when_it_is_named(tmp_path: Path) -> None:
    with (
        WarmServer(tmp_path / "one", ["log.durability=os"]) as one,
        WarmServer(tmp_path / "two", ["log.durability=os"]) as two,
    ):
        with connected(one) as database:
            for service in ("thrift", "thrift1", "thrift2"):
                database.create_table("hbase:" + service, {"f": {}}).put(b"row", {b"f:a": b"1"})
        every = copied([one, two], tmp_path / "state")
        assert every.returncode == 0, every.stderr
        assert "tables of the namespace hbase are not copied, unless --tables names them" in every.stderr
        for service in ("thrift", "thrift1", "thrift2"):
            name = "hbase:" + service
            named = copied([one, two], tmp_path / "state", "--tables", name, services=(service, "thrift"))
            assert named.returncode == 0, named.stderr
            assert "namespace hbase are not copied" not in named.stderr
            assert cells(two, name) == cells(one, name) != []
            absent = copied([one, two], tmp_path / "state", "--tables", "hbase:no", services=(service, service))
            assert "the source has no table hbase:no" in absent.stderr


@pytest.mark.parametrize("services", [("thrift", "thrift"), ("thrift1", "thrift2"), ("thrift2", "thrift")])
def test_a_server_is_not_copied_to_itself(
    servers: list[ServerProcess], tmp_path: Path, services: tuple[str, str]
) -> None:
    itself = copied([servers[0], servers[0]], tmp_path / "state", services=services)
    assert itself.returncode == 1, itself.stderr
    assert "are the same cluster" in itself.stderr
    command = words([servers[0], servers[0]], tmp_path / "state", services=services)
    command[-3] = command[-3].replace("127.0.0.1", "localhost")
    by_name = subprocess.run(command, capture_output=True, text=True, timeout=LONG_SECONDS, check=False)
    assert by_name.returncode == 1
    assert "are the same cluster" in by_name.stderr


def test_a_server_on_a_copied_folder_is_another_one(tmp_path: Path) -> None:
    with WarmServer(tmp_path / "one", ["log.durability=os"]) as one, connected(one) as database:
        database.create_table("t", {"f": {}}).put(b"row", {b"f:a": b"1"})
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with (
        WarmServer(tmp_path / "one", ["log.durability=os"]) as one,
        WarmServer(tmp_path / "two", ["log.durability=os"]) as two,
    ):
        done = copied([one, two], tmp_path / "state", "--tables", "t")
        assert done.returncode == 0, done.stderr


def test_what_a_delete_at_the_target_hides_is_said_with_its_cure(servers: list[ServerProcess], tmp_path: Path) -> None:
    filled(servers[0], "hidden", 9)
    assert copied(servers, tmp_path / "state", "--tables", "hidden").returncode == 0
    with connected(servers[1]) as database:
        database.table("hidden").delete(b"k1-00001")
    again = copied(servers, tmp_path / "state", "--tables", "hidden")
    assert again.returncode == 1
    assert "delete markers of the target hide it: flush 'hidden' and major_compact 'hidden'" in again.stderr
    script = "flush 'hidden'\nmajor_compact 'hidden'\n"
    shell = [sys.executable, "-m", "hbtable", "shell", "--url", f"127.0.0.1:{servers[1].port}", "-n"]
    subprocess.run(shell, input=script, text=True, timeout=LONG_SECONDS, check=True, capture_output=True)
    cured: list[subprocess.CompletedProcess[str]] = []

    def alike() -> bool:
        cured.append(copied(servers, tmp_path / "state", "--tables", "hidden"))
        return cured[-1].returncode == 0

    eventually(alike, 60, "the major compaction removed the markers")
    assert cells(servers[1], "hidden") == cells(servers[0], "hidden")


@pytest.mark.parametrize("service", ["thrift", "thrift2"])
def test_what_the_copy_deletes_can_be_written_again_at_other_times(
    servers: list[ServerProcess], tmp_path: Path, service: str
) -> None:
    name = "deleted-" + service
    with connected(servers[0]) as one, connected(servers[1]) as two:
        table, other = one.create_table(name, FAMILIES), two.create_table(name, FAMILIES)
        other.put(b"row", {b"f:a": b"surplus"}, timestamp=500)
        state = tmp_path / "state"
        done = copied(servers, state, "--tables", name, "--delete", services=("thrift", service))
        assert done.returncode == 0, done.stderr
        for time in (499, 501):  # no marker hides what is older, or newer
            table.put(b"row", {b"f:a": b"%d" % time}, timestamp=time)
        done = copied(servers, state, "--tables", name, services=("thrift", service))
        assert done.returncode == 0, done.stderr
        assert cells(servers[1], name) == cells(servers[0], name) != []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--from", "thrift://127.0.0.1:99999"), "is no HOST:PORT"),
        (("--from", "thrift://127.0.0.1"), "is no HOST:PORT"),
        (("--from", "thrift://127.0.0.1:1?foo=1"), "behind the question mark stand"),
        (("--to", "thrift://127.0.0.1:99999"), "is no HOST:PORT"),
        (("--from", "http://u:pw@127.0.0.1:1"), "begins with thrift://, thrift1:// or thrift2://"),
        (("--tables", ""), "--tables has an empty name"),
        (("--tables", "a,,b"), "--tables has an empty name"),
        (("--overlap", "inf"), "inf is not in the range"),
        (("--overlap", "nan"), "nan is no number of seconds"),
        (("--every", "nan"), "nan is no number of seconds"),
        (("--every", "1e300"), "is not in the range"),
    ],
)
def test_a_wrong_option_is_named_without_a_trace(tmp_path: Path, given: tuple[str, str], said: str) -> None:
    command = [sys.executable, "-m", "hbtable", "copy", "--state", str(tmp_path / "state")]
    ends = () if "--from" in given else ("--from", "thrift://127.0.0.1:1")
    done = subprocess.run([*command, *ends, *given], capture_output=True, text=True, timeout=LONG_SECONDS, check=False)
    assert done.returncode in (1, 2), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "pw" not in done.stderr
    assert not (tmp_path / "state").exists()


STATE = b'{"format": 2, "kind": "copy", "from": "thrift://a:1", "to": "thrift://b:1", "began_millis": 1, "parts": []}'


@pytest.mark.parametrize(
    "kept",
    [b"", b"a letter\n", b'{"x": 1}', b"[]", b'{"format": 2, "rows": 5, "cluster": "of an import"}', b"\xff\x00"],
)
@pytest.mark.parametrize("anew", [(), ("--anew",)])
def test_a_file_that_no_copy_wrote_is_left_as_it_is(
    servers: list[ServerProcess], tmp_path: Path, kept: bytes, anew: tuple[str, ...]
) -> None:
    file = tmp_path / "precious"
    file.write_bytes(kept)
    refused = copied(servers, file, *anew)
    assert refused.returncode == 1, refused.stderr
    assert f"{file} is no state of a copy, and is left as it is: name another file with --state" in refused.stderr
    assert file.read_bytes() == kept


@pytest.mark.parametrize("left", [STATE, STATE[:60], STATE.replace(b"2", b"99")])
def test_a_state_of_a_copy_is_forgotten_whatever_became_of_it(
    servers: list[ServerProcess], tmp_path: Path, left: bytes
) -> None:
    with connected(servers[0]) as one:
        if not one.table_exists("anew"):
            one.create_table("anew", {"f": {}})
    file = tmp_path / "state"
    file.write_bytes(left)
    refused = copied(servers, file, "--tables", "anew")
    assert refused.returncode == 1
    assert "--anew" in refused.stderr
    done = copied(servers, file, "--tables", "anew", "--anew")
    assert done.returncode == 0, done.stderr

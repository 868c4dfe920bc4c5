"""The shell's commands for operators against a real server: compactions, caches, garbage, regions, servers.

The shell is in this process, since its start takes half a second of the processor, and there are ninety of them here.
test_shell.py has the command itself.
"""

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hbtable.shell.invocation import ShellOptions
from hbtable.shell.main import run_lines
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's data."""
    return tmp_path_factory.mktemp("operations") / "data"


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with WarmServer(folder, ["thrift.slow_seconds=0.0"]) as server:
        yield f"127.0.0.1:{server.port}"
        assert server.stop() == 0


class Done(NamedTuple):
    """What `hbtable shell -n` made of a script."""

    returncode: int
    stdout: str
    stderr: str


def shell(url: str, script: str) -> Done:
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = run_lines(ShellOptions(url, interactive=False), iter(script.splitlines(True)))
    return Done(code, out.getvalue(), errors.getvalue())


def answer(url: str, script: str) -> list[str]:
    result = shell(url, script)
    assert result.returncode == 0, result.stderr
    return [line for line in result.stdout.splitlines() if not line.startswith("Took ")]


def test_compactions_of_a_table_and_of_a_server(url: str) -> None:
    script = "create 'c', 'f'\n" + "put 'c', 'r', 'f:', 'v'\nflush 'c'\n" * 3
    answer(url, script)
    assert answer(url, "compaction_state 'c'") == ["NONE", '=> "NONE"']
    (server,) = answer(url, "list_liveservers")[1:-1]
    answer(url, f"compact_rs '{server}', true")
    state = "is not known"
    while state != ["NONE", '=> "NONE"']:
        state = answer(url, "compaction_state 'c'")
    detailed = answer(url, "status 'detailed'")
    place = next(number for number, line in enumerate(detailed) if '"c,,' in line)
    assert "numberOfStorefiles=1," in detailed[place + 1]
    for line, error in (
        ("compaction_state 'no'", "Unknown table no!"),
        ("compact_rs 'no'", "Could not find any server"),
    ):
        failed = shell(url, line)
        assert failed.returncode == 1
        assert error in failed.stderr


def test_garbage_and_what_runs_by_itself(url: str) -> None:
    answer(url, "create 'g', 'f'\nput 'g', 'r', 'f:', 'v'\nflush 'g'\ndisable 'g'\ndrop 'g'\n")
    assert answer(url, "catalogjanitor_run") == ["=> 0"]
    assert answer(url, "cleaner_chore_run") == ["=> false"]
    assert answer(url, "hbck_chore_run") == ["=> true"]
    for command in ("catalogjanitor_enabled", "cleaner_chore_enabled"):
        assert answer(url, command) == ["true", "=> true"]
        failed = shell(url, command.replace("enabled", "switch") + " false")
        assert failed.returncode == 1
        assert "cannot be switched off" in failed.stderr
    assert answer(url, "is_in_maintenance_mode") == ["false", "=> false"]


def test_blocks_leave_the_cache(url: str) -> None:
    answer(url, "create 'b', 'f'\nput 'b', 'r', 'f:', 'v'\nflush 'b'\nget 'b', 'r'\n")
    (first,) = answer(url, "clear_block_cache 'b'")
    (second,) = answer(url, "clear_block_cache 'b'")
    size = r"maxCacheSize=[1-9]\d+"  # a share of the machine's memory
    assert re.fullmatch(
        rf"CacheEvictionStats{{evictedBlocks=1, {size}, failedRegionsSize=0, failedRegions=\[\]}}", first
    )
    assert second == first.replace("evictedBlocks=1", "evictedBlocks=0")


def test_a_region_is_described_and_none_is_in_transition(url: str) -> None:
    script = "create 'i', 'f', SPLITS => ['m']\nregion = locate_region('i', 'x').getRegionInfo.getEncodedName\n"
    lines = answer(url, script + "regioninfo region\nrit\n")
    encoded = lines[-3].split('"')[1] if lines[-3].startswith("=>") else ""
    assert lines[-2].startswith(f"{{ENCODED => {encoded}, NAME => 'i,m,")
    assert lines[-2].endswith(f".{encoded}.', STARTKEY => 'm', ENDKEY => ''}}")
    assert lines[-1] == "0 row(s)"
    failed = shell(url, "regioninfo 'no,,1.00000000000000000000000000000000.'")
    assert failed.returncode == 1
    assert "UnknownRegionException" in failed.stderr


def test_why_a_row_is_where_it_is(url: str) -> None:
    answer(url, "create 'why1', 'f', SPLITS => ['m']")
    name, tablet, server, kept, titles, count = answer(url, "why 'why1', 'x'")
    assert name.startswith("why1,m,")
    assert tablet.endswith(", from 'm' to the end: served")
    assert server.startswith("server: 127.0.0.1,")
    assert (
        kept == "no events: a cluster's roles keep them; of one machine the server's log says what became of a tablet"
    )
    assert (titles.split(), count) == (["TIME", "EVENT", "SERVER", "BY", "WHY"], "0 row(s)")
    assert "before 'm': served" in answer(url, "why 'why1', 'a'")[1]
    answer(url, "disable 'why1'")
    _, tablet, server, *_ = answer(url, "why 'why1', 'a'")
    assert tablet.endswith("before 'm': not served: its table is disabled")
    assert server == "server: none"
    failed = shell(url, "why 'nothing', 'a'")
    assert failed.returncode == 1
    assert "Unknown table nothing!" in failed.stderr


def test_no_server_is_dead_or_unknown(url: str) -> None:
    for command in ("list_deadservers", "list_unknownservers"):
        assert answer(url, command) == ["SERVERNAME", "0 row(s)"]
    assert answer(url, "clear_deadservers") == ["true"]
    assert answer(url, "clear_deadservers '00000001-00000000'") == ["true"]


def test_a_server_that_was_killed_is_dead_until_its_log_is_not_needed(tmp_path: Path) -> None:
    with WarmServer(tmp_path / "data") as server:
        first = f"127.0.0.1:{server.port}"
        answer(first, "create 'd', 'f'\nput 'd', 'r', 'f:', 'v'\n")
        server.kill()
    # No flush by itself: the log of the server that was killed stays needed.
    with WarmServer(tmp_path / "data", ["maintenance.period_seconds=3600.0"]) as server:
        second = f"127.0.0.1:{server.port}"
        title, dead, count = answer(second, "list_deadservers")
        assert (title, count) == ("SERVERNAME", "1 row(s)")
        assert dead.startswith("00000001-")
        assert ", 1 servers, 1 dead, " in answer(second, "status")[0]
        for form in ("simple", "detailed"):
            lines = answer(second, f"status '{form}'")
            assert lines[lines.index("1 dead servers") + 1] == f"    {dead}"
        assert answer(second, "clear_deadservers") == [
            "Some dead server clear failed", "SERVERNAME", dead, "1 row(s)",
        ]  # fmt: skip
        assert server.stop() == 0
    with WarmServer(tmp_path / "data") as server:
        assert answer(f"127.0.0.1:{server.port}", "list_deadservers") == ["SERVERNAME", "0 row(s)"]


def test_the_only_server_stays_in_service(url: str) -> None:
    (server,) = answer(url, "list_liveservers")[1:-1]
    for line, error in (
        (f"decommission_regionservers '{server}'", "no tablet server would be left that takes tablets"),
        ("decommission_regionservers ['127.0.0.1', 'no'], true", "Could not find any server(s) with specified name"),
        ("decommission_regionservers 5", "Integer of 5 is not of Array/String type"),
        ("decommission_regionservers '127.0.0.1', 5", "5 is not a boolean value"),
        ("recommission_regionserver 'no'", "Could not find any server(s) with specified name(s): no"),
        ("recommission_regionserver ['127.0.0.1']", 'Array of ["127.0.0.1"] is not of String type'),
        ("recommission_regionserver '127.0.0.1', 'r'", 'String of "r" is not of Array type'),
        ("recommission_regionserver '127.0.0.1', ['r']", "UnknownRegionException: r"),
    ):
        failed = shell(url, line)
        assert failed.returncode == 1
        assert error in failed.stderr
    assert answer(url, "list_decommissioned_regionservers") == ["DECOMMISSIONED REGION SERVERS", "0 row(s)"]
    assert answer(url, f"recommission_regionserver '{server}'") == []


def slow(url: str, rest: str) -> list[dict[str, object]]:
    title, *lines = answer(url, f"get_slowlog_responses {rest}")
    assert title == "Retrieved SlowLog Responses from RegionServers"
    found, decoder, text = [], json.JSONDecoder(), "\n".join(lines)
    while text.strip():
        record, end = decoder.raw_decode(text.lstrip())
        found.append(record)
        text = text.lstrip()[end:]
    return found


def test_slow_requests_are_shown_and_forgotten(url: str) -> None:
    answer(url, "list\n" * 10)  # so that there are as many as are shown at once, also when this test is the first
    answer(url, "create 's', 'f'\nput 's', 'r', 'f:', 'v'\nput 's', 'r2', 'f:', 'v'\n")
    found = slow(url, "'*', {'TABLE_NAME' => 's', 'LIMIT' => 2}")
    assert [(one["methodName"], one["tableName"], one["row"]) for one in found] == [
        ("adminMutate", "s", "r2"),
        ("adminMutate", "s", "r"),
    ]
    assert {type(one[name]) for one in found for name in ("startTime", "processingTime", "responseSize")} == {int}
    assert len(slow(url, "['127.0.0.1']")) == 10
    assert slow(url, "'*', {'TABLE_NAME' => 's', 'CLIENT_IP' => '10.0.0.1', 'FILTER_BY_OP' => 'AND'}") == []
    assert len(slow(url, "'*', {'TABLE_NAME' => 'none', 'CLIENT_IP' => '127.0.0.1', 'LIMIT' => 3}")) == 3
    assert answer(url, "clear_slowlog_responses") == ["Cleared Slowlog responses from 1/1 RegionServers"]
    assert slow(url, "'*', {'TABLE_NAME' => 's'}") == []
    for rest, error in (
        ("'no'", "Could not find any server(s) with specified name(s): no"),
        ("'*', {'USER' => 'me'}", "USER: slow requests are chosen by LIMIT, TABLE_NAME"),
        ("'*', {'LIMIT' => 'x'}", "LIMIT must be a number"),
        ("'*', {'FILTER_BY_OP' => 'XOR'}", "FILTER_BY_OP should be either OR / AND"),
        ("'*', 5", "Filter parameters are not Hash"),
    ):
        failed = shell(url, f"get_slowlog_responses {rest}")
        assert failed.returncode == 1
        assert error in failed.stderr


def refusal(url: str, script: str) -> str:
    """The first line on standard error of a script that must fail."""
    result = shell(url, script)
    assert result.returncode == 1, result.stdout
    return result.stderr.splitlines()[0]


def test_a_split_without_a_place_is_refused_as_hbase_refuses_it(url: str) -> None:
    answer(url, "create 'sp', 'f', SPLITS => ['m']\ncreate 'one', 'f'\nput 'one', 'r', 'f:', 'v'\n")
    begin = "region = locate_region('sp', 'a').getRegionInfo.getEncodedName\n"
    equal = "should not give a splitkey which equals to startkey!"
    for script in ("split 'sp', 'm'", "split 'sp', ''", begin + "split region, ''"):
        assert refusal(url, script).endswith(f"java.io.IOException: {equal}")
    for row in ("z", "m"):
        outside = refusal(url, begin + f"split region, '{row}'")
        assert f"Split row is not inside region key range splitKey:{row} region: {{ENCODED => " in outside
        assert outside.endswith("STARTKEY => '', ENDKEY => 'm'}")
    for script, what in (
        ("split 'sp'", "no region of sp has two rows"),
        ("split 'one'", "no region of one has two rows"),
        ("flush 'one'\nsplit 'one'", "no region of one has two rows"),
        (begin + "split region", "the region has no two rows"),
    ):
        assert f"not splittable: {what} to split between" in refusal(url, script)
    assert refusal(url, "split 'nowhere', ''").endswith("Unknown table nowhere!")
    assert answer(url, "get_splits 'sp'")[:2] == ["Total number of splits = 2", "m"], "nothing was split"
    answer(url, "split 'sp', 'q'\nsplit 'one', 'r'\nput 'one', 's', 'f:', 'v'\nsplit 'one'\n")
    assert answer(url, "get_splits 'sp'")[1:3] == ["m", "q"]
    assert answer(url, "get_splits 'one'")[1:3] == ["r", "s"]


def test_one_familys_files_are_compacted(url: str) -> None:
    write = "put 'fam', 'r', 'f:', 'v'\nput 'fam', 'r', 'g:', 'v'\nflush 'fam', 'f'\n"
    answer(url, "create 'fam', 'f', 'g'\n" + write * 2)

    def files() -> list[str]:
        detailed = answer(url, "status 'detailed'")
        place = next(number for number, line in enumerate(detailed) if '"fam,,' in line)
        return [part for part in detailed[place + 1].strip().split(", ") if part.startswith("numberOfStorefiles")]

    def until_done() -> None:
        while answer(url, "compaction_state 'fam'") != ["NONE", '=> "NONE"']:
            pass

    assert files() == ["numberOfStorefiles=4"]
    answer(url, "major_compact 'fam', 'g'")
    until_done()
    assert files() == ["numberOfStorefiles=3"]
    answer(url, "major_compact 'fam', 'f'")
    until_done()
    assert files() == ["numberOfStorefiles=2"]
    for command in ("flush", "compact", "major_compact"):
        assert refusal(url, f"{command} 'fam', 'nofam'").endswith("Column families [nofam] don't exist in table fam")
        assert refusal(url, f"{command} 'fam', 7").endswith("a family's name must be a string in quotes, not 7")


def test_splits_and_merges_are_switched_off_and_on(url: str) -> None:
    answer(url, "create 'sw', 'f', SPLITS => ['m']\n")
    regions = "a = locate_region('sw', 'd').getRegionInfo.getEncodedName\n"
    regions += "b = locate_region('sw', 'z').getRegionInfo.getEncodedName\n"
    for kind, script in (("SPLIT", "split 'sw', 'c'"), ("MERGE", regions + "merge_region a, b")):
        assert answer(url, f"splitormerge_enabled '{kind}'") == ["true", "=> true"]
        assert answer(url, f"splitormerge_switch '{kind}', false") == ["true", "=> true"]
        assert answer(url, f"splitormerge_switch '{kind}', 'false'") == ["false", "=> false"]
        assert answer(url, f"splitormerge_enabled '{kind}'") == ["false", "=> false"]
        refused = refusal(url, script)
        assert "org.apache.hadoop.hbase.DoNotRetryIOException: nothing was " in refused
        assert f"(splitormerge_switch '{kind}', true)" in refused
        assert answer(url, f"splitormerge_switch '{kind}', true") == ["false", "=> false"]
        answer(url, script)
    assert answer(url, "get_splits 'sw'")[0] == "Total number of splits = 2"
    for line in ("splitormerge_enabled 'split'", "splitormerge_switch 'X', true", "splitormerge_switch 7, true"):
        assert refusal(url, line) == "ArgumentError: only SPLIT or MERGE accepted for type!"


def test_compactions_are_switched_off_and_on(url: str) -> None:
    (server,) = answer(url, "list_liveservers")[1:-1]
    shown = ["['SERVER'  'PREV_STATE']", f" {server} true", "1 row(s)"]
    assert answer(url, "compaction_switch false") == shown
    assert answer(url, f"compaction_switch 'false', '{server}'") == [line.replace("true", "false") for line in shown]
    assert answer(url, "compaction_switch true, ['127.0.0.1']") == [line.replace("true", "false") for line in shown]
    assert answer(url, "compaction_switch true, nil") == shown
    assert "Could not find any server(s) with specified name(s): no" in refusal(url, "compaction_switch true, ['no']")
    assert "no tablet server was named" in refusal(url, "compaction_switch true, []")


def test_a_log_goes_on_in_a_new_file(url: str, logs: Callable[[], list[str]]) -> None:
    before = logs()
    (server,) = answer(url, "list_liveservers")[1:-1]
    for number, line in enumerate((f"wal_roll '{server}'", "hlog_roll '127.0.0.1'", "wal_roll_all"), 1):
        answer(url, "create 'w', 'f'\nput 'w', 'r', 'f:', 'v'\n" if number == 1 else "put 'w', 'r', 'f:', 'v'\n")
        assert answer(url, line) == []
        assert len(set(logs()) - set(before)) >= 1
        before = logs()
    assert "Could not find any server(s) with specified name(s): no" in refusal(url, "wal_roll 'no'")
    assert answer(url, "count 'w'")[-1] == "=> 1"


@pytest.fixture
def logs(folder: Path) -> Callable[[], list[str]]:
    return lambda: sorted(str(path) for path in (folder / "logs").rglob("*.log"))

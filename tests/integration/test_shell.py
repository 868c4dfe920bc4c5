"""The shell against a real server: the first session of HBase's guide, exit codes, formats, examples of the help."""

import io
import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ShellError
from hbtable.shell.invocation import ShellOptions, make_session
from tests.harness.help_examples import examples
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

GUIDE = """\
create 'test', 'cf'
list 'test'
put 'test', 'row1', 'cf:a', 'value1', 1
put 'test', 'row2', 'cf:b', 'value2', 2
scan 'test'
get 'test', 'row1'
disable 'test'
enable 'test'
disable 'test'
drop 'test'
exists 'test'
"""
ANSWER = """\
Created table test
=> Hbase::Table - test
TABLE
test
1 row(s)
=> ["test"]
ROW  COLUMN+CELL
 row1 column=cf:a, timestamp=1970-01-01T00:00:00.001, value=value1
 row2 column=cf:b, timestamp=1970-01-01T00:00:00.002, value=value2
2 row(s)
COLUMN  CELL
 cf:a timestamp=1970-01-01T00:00:00.001, value=value1
1 row(s)
Table test does not exist
=> false
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with WarmServer(tmp_path_factory.mktemp("shell") / "data") as server:
        yield f"127.0.0.1:{server.port}"
        assert server.stop() == 0


def hbtable(*arguments: str, script: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"TZ": "UTC", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    return run_warm(*arguments, given=script, env=environment)


def shell(url: str, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return hbtable("shell", "-n", "--url", url, *arguments, script=script)


def test_the_guides_first_session(url: str) -> None:
    result = shell(url, GUIDE)
    lines = [line for line in result.stdout.splitlines(True) if not line.startswith("Took ")]
    assert "".join(lines) == ANSWER
    assert (result.returncode, result.stderr) == (0, "")


def test_exit_codes_and_errors(url: str, tmp_path: Path) -> None:
    failed = shell(url, "get 'missing', 'r'\nlist\n")
    assert failed.returncode == 1
    assert failed.stderr.startswith("RuntimeError: Unknown table missing!")
    assert "TABLE" not in failed.stdout
    assert shell(url, "exit 7\nlist\n").returncode == 7
    assert shell("127.0.0.1:1", "list\n").returncode == 3
    assert hbtable("shell", "--nonsense").returncode == 2
    typo = shell(url, "lst\n")
    assert "at column 1" in typo.stderr
    assert "did you mean list" in typo.stderr
    (tmp_path / "script").write_text("put 'missing', 'r', 'f:a', 'v'\n")
    from_file = hbtable("shell", "-n", "--url", url, str(tmp_path / "script"))
    assert from_file.returncode == 1
    assert "Unknown table" in from_file.stderr


def test_a_quota_that_holds_for_no_call_is_taken_as_in_hbase_and_told(url: str) -> None:
    for kind in ("THROTTLE, LIMIT => '5req/sec'", "SPACE, POLICY => NO_WRITES, LIMIT => '5G'"):
        of_table = shell(url, f"set_quota TYPE => {kind}, TABLE => 'nowhere'\n")
        assert of_table.returncode == 0
        assert "there is no table nowhere, so the quota waits for one" in of_table.stdout + of_table.stderr
        ended = shell(url, f"set_quota TYPE => {kind.split(',')[0]}, TABLE => 'nowhere', LIMIT => NONE\n")
        assert (ended.returncode, "there is no table" in ended.stdout + ended.stderr) == (0, False)
    of_user = shell(url, "set_quota TYPE => THROTTLE, USER => 'ann', LIMIT => '5req/sec'\n")
    assert of_user.returncode == 0
    assert "auth.enabled), so a limit on a user holds for no call" in of_user.stdout + of_user.stderr
    ended = shell(url, "set_quota TYPE => THROTTLE, USER => 'ann', LIMIT => NONE\n")
    assert "auth.enabled" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("form", ["hbase", "table", "json", "jsonl", "csv"])
def test_a_table_that_is_absent_is_no_empty_answer(url: str, form: str) -> None:
    failed = shell(url, "scan 'nope'\n", "--format", form)
    assert (failed.returncode, failed.stderr.splitlines()[0]) == (1, "RuntimeError: Unknown table nope!")
    assert form == "hbase" or "[]" not in failed.stdout
    once = hbtable("scan", "--url", url, "--format", form, "nope")
    assert (once.returncode, once.stderr.splitlines()[0]) == (1, "RuntimeError: Unknown table nope!")
    assert once.stdout == ("ROW  COLUMN+CELL\n" if form == "hbase" else "")


@pytest.mark.parametrize(
    "command", ["shell", "list", "scan t", "get t r", "import t /dev/null", "export t -o /dev/null"]
)
def test_an_address_that_is_none_is_misuse(command: str) -> None:
    failed = hbtable(*command.split(), "--url", "foo")
    assert failed.returncode == 2
    assert "'foo' is no HOST:PORT: a server's address is written as in 127.0.0.1:9090" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_one_shot_forms(url: str) -> None:
    assert hbtable("shell", "--url", url, "-e", "create 'shot', 'f'").returncode == 0
    assert hbtable("put", "--url", url, "shot", "r1", "f:a", "v").returncode == 0
    got = hbtable("get", "--url", url, "--format", "jsonl", "shot", "r1")
    assert '"value": "v"' in got.stdout
    assert hbtable("scan", "--url", url, "--prefix", "x", "shot").stdout.endswith("0 row(s)\n")
    assert hbtable("count", "--url", url, "shot").stdout == "1 row(s)\n"
    assert hbtable("count", "--url", url, "--format", "json", "shot").stdout == "1\n"
    assert hbtable("incr", "--url", url, "shot", "r1", "f:n", "5").stdout == "COUNTER VALUE = 5\n"
    assert hbtable("incr", "--url", url, "shot", "r1", "f:n", "--format", "json", "--", "-2").stdout.strip() == (
        '[{"counter": 3}]'
    )
    assert hbtable("incr", "--url", url, "shot", "r1", "f:n", "five").returncode == 2
    assert hbtable("deleteall", "--url", url, "shot", "r1").returncode == 0
    assert hbtable("exists", "--url", url, "shot").stdout == "Table shot does exist\n"
    assert hbtable("drop", "--url", url, "shot").returncode == 1


ROWS = ("com", "com.a", "com.b", "com.c", "con", "d")
BOUNDS = [("--start", "com.b"), ("--stop", "com.c"), ("--prefix", "com."), ("--limit", "0"), ("--limit", "2")]


@pytest.fixture(scope="module")
def rows(url: str) -> str:
    """The name of a table of them."""
    puts = "".join(f"put 'rows', '{row}', 'f:', 'v'\n" for row in ROWS)
    assert shell(url, f"create 'rows', 'f'\n{puts}").returncode == 0
    return "rows"


def meant(start: str | None, stop: str | None, prefix: str | None, limit: int | None, backwards: bool) -> list[str]:
    order = ROWS[::-1] if backwards else ROWS
    behind = [row for row in order if start is None or (row <= start if backwards else row >= start)]
    before = [row for row in behind if stop is None or (row > stop if backwards else row < stop)]
    return [row for row in before if prefix is None or row.startswith(prefix)][:limit]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("bounds", [one for size in range(5) for one in itertools.combinations(BOUNDS, size)], ids=str)
def test_each_option_of_a_scan_counts_or_is_misuse(
    url: str, rows: str, bounds: tuple[tuple[str, str], ...], backwards: bool
) -> None:
    given = dict(bounds)
    words = ["--url", url, "--format", "json", *itertools.chain(*bounds), *(["--reversed"] if backwards else []), rows]
    refused = given.get("--limit") == "0" or ("--prefix" in given and ("--start" in given or "--stop" in given))
    scanned = hbtable("scan", *words)
    start, stop, prefix, limit = (given.get(f"--{name}") for name in ("start", "stop", "prefix", "limit"))
    expected = meant(start, stop, prefix, None if limit is None else int(limit), backwards)
    assert scanned.returncode == (2 if refused else 0), scanned.stderr
    assert refused or [one["row"] for one in json.loads(scanned.stdout)] == expected
    if not backwards and limit is None:
        counted = hbtable("count", *words)
        assert counted.returncode == (2 if refused else 0)
        assert refused or counted.stdout == f"{len(expected)}\n"


def test_a_script_may_begin_with_a_mark_of_utf_8(url: str, tmp_path: Path) -> None:
    assert shell(url, "\ufeffversion\r\n").returncode == 0
    (tmp_path / "script").write_text("\ufeffversion\n", encoding="utf-8")
    assert hbtable("shell", "-n", "--url", url, str(tmp_path / "script")).returncode == 0


def test_truncate_namespaces_and_read_only(url: str) -> None:
    script = """\
create_namespace 'ns', {'k' => 'v'}
alter_namespace 'ns', {METHOD => 'set', 'k' => 'w', 'l' => 'x'}
alter_namespace 'ns', {METHOD => 'unset', NAME => 'l'}
describe_namespace 'ns'
create 'ns:t', 'f', SPLITS => ['m']
put 'ns:t', 'a', 'f:', 'v'
truncate_preserve 'ns:t'
get_splits 'ns:t'
truncate 'ns:t'
get_splits 'ns:t'
count 'ns:t'
alter 'ns:t', READONLY => true
put 'ns:t', 'a', 'f:', 'v'
"""
    result = shell(url, script)
    assert "{NAME => 'ns', k => 'w'}" in result.stdout
    assert '=> ["m"]' in result.stdout
    assert "=> []" in result.stdout
    assert "=> 0" in result.stdout
    assert result.returncode == 1
    assert "read only" in result.stderr


SETUP = """\
create 't1', {NAME => 'c1', VERSIONS => 5}, 'c2', 'c3', 'cf', 'f1'
create 'ns1:t1', 'c1'
t = get_table 't1'
ts1 = 1; ts2 = 2
"""
TAKEN = ("create", "clone_table_schema", "create_namespace", "drop", "drop_all")


def test_examples_of_the_help_run(url: str) -> None:
    """Each with the tables it names; `ts1` and the like are given values. In one process: there are many."""
    session = make_session(ShellOptions(url), lambda question: True, stream=io.StringIO())
    session.execute("create_namespace 'ns1'")
    problems = []
    seen = 0
    for name, found in itertools.groupby(examples(), lambda pair: pair[0]):
        lines = [line for _, line in found]
        for statement in SETUP.splitlines():
            if name not in TAKEN or "create" not in statement or name.startswith("drop"):
                session.execute(statement)
        for line in lines:
            seen += 1
            try:
                if name in ("drop", "drop_all") or line == "t.drop":
                    session.execute("disable_all 't1'")
                session.execute(line)
            except ShellError as error:
                if "there is no snapshot" not in str(error) and not is_expected(name, line):
                    problems.append(f"{line}: {error}")
            if name == "create":
                session.execute("disable_all '.*'; drop_all '.*'")
        session.execute("disable_all '.*'; drop_all '.*'")
    session.context.server.close()
    assert seen > 100
    assert not problems, "\n".join(problems)


def is_expected(name: str, line: str) -> bool:
    """Examples that only make sense with what they name: the table is gone, or the namespace there already."""
    # HBase's own texts, kept as they are, fail there, too: a comma is missing, and its filters take no line end.
    if line.startswith("get 't1', 'r1' {COLUMN") or (name == "count" and "\n" in line):
        return True
    if line.startswith("decommission_regionservers"):
        return True  # of the only server: refused
    if name in ("grant", "revoke"):
        return True  # this server asks nobody who he is; tests/simulation/test_access_shell.py has one that does
    return (name, line) in (
        ("clone_table_schema", "clone_table_schema 't1', 't2'"),
        ("create_namespace", "create_namespace 'ns1'"),
        ("create_namespace", "create_namespace 'ns1', {'PROPERTY_NAME'=>'PROPERTY_VALUE'}"),
    )


def test_import_export_and_import_again_give_an_equal_table(url: str, tmp_path: Path) -> None:
    source = tmp_path / "flights.csv"
    lines = [f'k{number:05d},{number * 7},"a ""quoted"", {number}\nline",é' for number in range(1, 2001)]
    source.write_text("HBASE_ROW_KEY,f:n,f:text,f:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    assert (
        shell(
            url, "create 'bulk', {NAME => 'f', VERSIONS => 3}\ncreate 'again', {NAME => 'f', VERSIONS => 3}\n"
        ).returncode
        == 0
    )
    result = hbtable("import", "--url", url, "bulk", str(source))
    assert (result.returncode, result.stderr[:22]) == (0, "imported 2,000 rows in"), result.stderr
    binary = "put 'bulk', \"k\\xff\\x00\", 'f:n', \"\\xfe\", 5\nput 'bulk', 'k00001', 'f:n', 'older', 9\n"
    assert shell(url, binary).returncode == 0
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert hbtable("export", "--url", url, "bulk", "-o", str(first)).returncode == 0
    assert hbtable("import", "--url", url, "again", str(first)).returncode == 0
    assert hbtable("export", "--url", url, "again", "-o", str(second)).returncode == 0
    assert first.read_bytes() == second.read_bytes()
    assert first.read_text().count("\n") == 2001
    back = tmp_path / "back.csv"
    made = hbtable("export", "--url", url, "bulk", "-o", str(back), "--columns", "f:n,f:text,f:")
    assert made.returncode == 0, made.stderr
    assert back.read_text(encoding="utf-8", errors="surrogateescape").startswith(source.read_text(encoding="utf-8"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "back.csv",
        "first.jsonl",
        "flights.csv",
        "second.jsonl",
    ]


def test_transfers_that_cannot_be_say_why(url: str, tmp_path: Path) -> None:
    hbtable("shell", "-n", "--url", url, "-e", "create 'transfers', 'f'")
    (tmp_path / "some.jsonl").write_text('{"row": "a"}\n')
    for expected, *arguments in (
        ("line 1: the record has no 'cells'", "import", "--url", url, "transfers", str(tmp_path / "some.jsonl")),
        ("Unknown table none!", "export", "--url", url, "none", "-o", str(tmp_path / "out.jsonl")),
        ("No such file or directory", "export", "--url", url, "transfers", "-o", str(tmp_path / "none" / "out.jsonl")),
    ):
        result = hbtable(*arguments)
        assert result.returncode == 1
        assert expected in result.stderr
        assert "Traceback" not in result.stderr


def test_a_bad_record_stops_an_import_which_then_goes_on(url: str, tmp_path: Path) -> None:
    source, errors = tmp_path / "rows.tsv", tmp_path / "errors"
    source.write_text("a\t1\nb\t2\nonly one field\nc\t3\n")
    assert shell(url, "create 'bad', 'f'\n").returncode == 0
    command = ["import", "--url", url, "bad", str(source), "--columns", "HBASE_ROW_KEY,f:n", "--batch", "1"]
    stopped = hbtable(*command)
    assert stopped.returncode == 1
    assert "rows.tsv, line 3: 1 fields where 2 belong: HBASE_ROW_KEY,f:n; mend it" in stopped.stderr
    went_on = hbtable(*command, "--skip-bad", "1", "--errors", str(errors))
    assert went_on.returncode == 0
    assert "imported 3 rows" in went_on.stderr
    assert errors.read_text() == "only one field\n"
    assert "rows.tsv, line 3: 1 fields" in errors.with_name("errors.why").read_text()
    assert hbtable("count", "--url", url, "bad").stdout == "3 row(s)\n"


def test_one_region_is_flushed_and_split_by_its_name(url: str) -> None:
    script = """create 'one', 'f', SPLITS => ['m']
put 'one', 'a', 'f:', '1'
put 'one', 'b', 'f:', '1'
put 'one', 'z', 'f:', '1'
region = locate_region('one', 'a').getRegionInfo.getEncodedName
flush region
compact region
split region
"""
    result = shell(url, script)
    assert result.returncode == 0, result.stderr
    connection = ShellConnection(url)
    first, second, third = connection.admin("adminTablets", b"one")
    connection.close()
    assert [first.stop_row, second.stop_row, third.stop_row] == [b"b", b"m", b""]
    assert (first.sstables, third.sstables) == (1, 0)
    assert (first.memtable_bytes, third.memtable_bytes > 0) == (0, True)


MERGES = """\
create TABLE, 'f', SPLITS => ['g', 'm', 's']
create OTHER, 'f'
put TABLE, 'a', 'f:', '1', 1
put TABLE, 'h', 'f:', '2', 2
put TABLE, 'z', 'f:', '3', 3
a = locate_region(TABLE, 'a').getRegionInfo.getEncodedName
b = locate_region(TABLE, 'h').getRegionInfo.getEncodedName
c = locate_region(TABLE, 'n').getRegionInfo.getEncodedName
d = locate_region(TABLE, 'z').getRegionInfo.getEncodedName
n = locate_region(OTHER, 'z').getRegionInfo.getEncodedName
"""


def merges_in(table: str, line: str) -> str:
    return (MERGES + line).replace("TABLE", f"'{table}'").replace("OTHER", f"'{table}_other'")


def test_regions_are_merged_by_their_names(url: str) -> None:
    script = merges_in("merged", "merge_region [b, a, c]\nget_splits TABLE\nscan TABLE\n")
    result = shell(url, script)
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if not line.startswith("Took")]
    assert lines[-8:-5] == ["Total number of splits = 2", "s", '=> ["s"]']
    assert lines[-1] == "3 row(s)"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("merge_region a, d", "Unable to merge non-adjacent or non-overlapping regions 'A', 'D' when force=false"),
        ("merge_region a, d, true", "'A', 'D' are not neighbours, and hbtable does not force it"),
        ("merge_region a, a", "cannot merge a region to itself. Passed in 2 but only 1 unique."),
        ("merge_region a, n", "Can't merge regions from different tables"),
        ("merge_region a, 'none'", "Can't invoke merge on unknown region none"),
    ],
)
def test_regions_that_cannot_be_merged_are_named(url: str, line: str, error: str) -> None:
    result = shell(url, merges_in("".join(filter(str.isalnum, line)), line))
    assert result.returncode == 1
    names = [text.split('"')[1] for text in result.stdout.splitlines() if text.startswith('=> "')]
    for letter, name in zip("ABCDN", names, strict=True):
        error = error.replace(f"'{letter}'", f"'{name}'")
    assert error in result.stderr

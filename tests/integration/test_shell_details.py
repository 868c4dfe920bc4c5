"""Details of commands that users of HBase's shell rely on, line by line and sentence by sentence, in one session."""

import io
import json
from collections.abc import Callable, Iterator

import pytest

from hbtable.errors import NotSupported, class_names
from hbtable.shell.catalogue import ENTRIES
from hbtable.shell.commands.rows import count
from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ServerError, ShellError
from hbtable.shell.help_texts import of_command
from hbtable.shell.invocation import ShellOptions, make_session
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

Run = Callable[..., list[str]]
SETUP = """\
create 't', {NAME => 'f', VERSIONS => 3}, 'g'
put 't', 'a', 'f:x', '1', 1
put 't', 'a', 'g:y', '2', 2
put 't', 'b', 'f:x', '3', 3
create 'arrays', [{NAME => 'f'}, 'g'], SPLITS => ['\\x01', '\\x80a']
incr 'arrays', 'a', 'g:c'
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Lines of the answer, without Took; an error is the last line, its advice behind it."""
    with WarmServer(tmp_path_factory.mktemp("shell") / "data") as server:

        def answer(text: str, form: str = "hbase") -> list[str]:
            stream = io.StringIO()
            options = ShellOptions(f"127.0.0.1:{server.port}", format=form)
            session = make_session(options, lambda question: True, stream=stream)
            try:
                session.execute(text)
            except ShellError as error:
                stream.write(f"{error}\n{error.advice or session.hint(error)}\n")
            session.context.out.flush()
            session.context.server.close()
            return [line for line in stream.getvalue().splitlines() if line and not line.startswith("Took ")]

        answer(SETUP)
        yield answer
        assert server.stop() == 0


MESSAGES = [
    ("incr 't', 'r', 'f:x', 9223372036854775808", "bignum too big to convert into `long'"),
    (
        "get 't', 'r', 'f:x', {VERSIONS => 3}",
        "get takes names of columns or one hash of options, not both: {COLUMN => ...}",
    ),
    (
        "get 'a-b:t', 'r'",
        "Illegal character <-> at 1. Namespaces may only contain 'alphanumeric characters' from any language and "
        "digits: a-b",
    ),
    ("get ':t', 'r'", "Namespace name must not be empty"),
    ("create 'x', 'f', SPLITS => ['a', 'a']", "All split keys must be unique, found duplicate: a, a"),
    ("create 'x', 'f', SPLITS => ['']", "Empty split key must not be passed in the split keys."),
    ("put 't', 'r', 'f:a', 'v', -1", "Timestamp cannot be negative. ts=-1"),
    ("put 't', 'r', 'f:a', 'v', 1, 2", "the options of put are a hash such as {ATTRIBUTES => {...}}, not 2"),
    ("put 't', 'r', 'f:a', 'v', 1, {ATTRIBUTES => 2}", "Attributes must be a Hash type"),
    ("create 'x', 5", "Integer of 5 is not of Hash or String type"),
    ("create 'x', 'f', METHOD => 'other'", "table_att is currently the only supported method"),
    ("create 'x', 'f', SPLITS_FILE => '/no/such'", "Splits file /no/such doesn't exist"),
    ("create 'x', {NAME => 'f', VERSIONS => 0}", "Maximum versions must be positive"),
    ("create 'x', {NAME => 'f', BLOCKSIZE => 10}", "Block size for column family must be between 1K and 16MB."),
    ("create 'x', 'f', METADATA => 5", "METADATA must be a Hash type"),
    ("create 'x', ''", "Column Family name can not be empty"),
    ("create 'x', '.f'", "Column Family names cannot start with a period: .f"),
    (
        "create 'x', 'f:'",
        "Illegal character <58>. Column Family names cannot contain control characters or colons: f:",
    ),
    ("alter 't', METHOD => 'delete'", "NAME parameter missing for delete method"),
    ("alter 't', METHOD => 'table_att_unset'", "NAME parameter missing for table_att_unset method"),
    ("alter 't', METHOD => 'table_conf_unset', NAME => 'a.b'", "Could not find configuration: a.b"),
    ("alter 't', METHOD => 'table_att_unset', NAME => 'a.b'", "Could not find attribute: a.b"),
    ("create 5, 'f'", "Table name must be of type String"),
    ("create_namespace :n", "Namespace name must be of type String"),
    ("get 't', 'a', {COLUMN => 5}", 'Failed parse column argument type {"COLUMN"=>5}, Hash'),
    ("alter_status 'nope'", "Can't find a table: nope"),
    ("create_namespace 'default'", "Namespace default already exists"),
    ("create_namespace 'n', 5", "Integer of 5 is not of Hash or String type"),
    ("alter_namespace 'default', {METHOD => 'x'}", "Unknown method x"),
]


@pytest.mark.parametrize(("line", "message"), MESSAGES)
def test_messages_of_errors(run: Run, line: str, message: str) -> None:
    assert message in run(line)


@pytest.mark.parametrize(
    ("options", "message", "advice"),
    [
        ("CONSISTENCY => 'X'", "client.Consistency.X", "it is one of STRONG, TIMELINE"),
        ("ISOLATION_LEVEL => 'X'", "client.IsolationLevel.X", "it is one of READ_COMMITTED, READ_UNCOMMITTED"),
        ("READ_TYPE => 'X'", "client.Scan.ReadType.X", "it is one of DEFAULT, STREAM, PREAD"),
        ("COLUMNS => 5", "COLUMNS must be specified as a String or an Array", ""),
        ("TIMESTAMP => -1", "invalid ts:-1", ""),
        ("AUTHORIZATIONS => 'a'", "Authorizations must be a Array type", ""),
        ("FORMATTER_CLASS => 'no.Such'", "there is no formatter class no.Such; there is org.apache", ""),
        ("COLUMNS => 'f:x:c(no.Such).toInt'", "there is no formatter class no.Such; there is org.apache", ""),
        ("LIMIT => 99999999999999999999", "bignum too big to convert into `long'", ""),
        ("FILTER => PrefixFilter.new('a')", "uninitialized constant", "a filter is a text"),
    ],
)
def test_options_that_cannot_be_are_refused(run: Run, options: str, message: str, advice: str) -> None:
    answer = "\n".join(run(f"scan 't', {{{options}}}"))
    assert message in answer
    assert advice in answer


@pytest.mark.parametrize(
    ("family", "advice"),
    [
        ("KEEP_DELETED_CELLS => 'X'", "it is one of FALSE, TRUE, TTL"),
        ("DATA_BLOCK_ENCODING => 'X'", "it is one of NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1"),
        ("IN_MEMORY_COMPACTION => 'X'", "it is one of NONE, BASIC, EAGER, ADAPTIVE"),
    ],
)
def test_names_of_a_kind(run: Run, family: str, advice: str) -> None:
    message, hint = run(f"create 'x', {{NAME => 'f', {family}}}")[-2:]
    assert message.startswith("No enum constant org.apache.hadoop.hbase.")
    assert hint == advice


def test_numbers_are_rows_and_values(run: Run) -> None:
    run("put 't', 5, 'f:n', 7, 1; incr 't', 5, 'f:c'; append 't', 5, 'f:n', 8")
    assert run("get 't', 5, 'f:n:toString'")[1].endswith("value=78")
    assert run("get_counter 't', '5', 'f:c'") == ["COUNTER VALUE = 1"]
    run("delete 't', 5, 'f:c'; deleteall 't', 5")
    assert run("get 't', 5")[-1] == "0 row(s)"


def test_nothing_asked_for_means_everything(run: Run) -> None:
    everything = run("scan 't'")
    assert len(everything) == 5
    for options in ("COLUMNS => []", "COLUMNS => nil", "LIMIT => nil", "TIMERANGE => nil"):
        assert run(f"scan 't', {{{options}}}") == everything, options
    assert run("get 't', 'a', nil") == run("get 't', 'a', {COLUMN => []}") == run("get 't', 'a'")
    assert len(run("get 't', 'a', {ATTRIBUTES => {'k' => 'v'}, VERSIONS => 3}")) == 4


def test_one_metric_by_its_name(run: Run) -> None:
    assert run("scan 't', {METRICS => 'RPC_CALLS'}")[-2:] == ["METRIC  VALUE", " RPC_CALLS 1"]


def metrics(lines: list[str]) -> dict[str, int]:
    """The table behind a scan's rows."""
    return {name: int(value) for name, value in (line.split() for line in lines[lines.index("METRIC  VALUE") + 1 :])}


def test_what_a_scan_cost_is_counted(run: Run) -> None:
    run("create 'cost', 'f', SPLITS => ['h', 'p']")
    for row in "abnz":
        run(f"put 'cost', '{row}', 'f:q', '{row}'")
    whole = metrics(run("scan 'cost', {ALL_METRICS => true}"))
    between = whole.pop("MILLIS_BETWEEN_NEXTS")
    assert whole == {
        "BYTES_IN_RESULTS": 20, "REGIONS_SCANNED": 3, "ROWS_FILTERED": 0, "ROWS_SCANNED": 4, "RPC_CALLS": 1
    }  # fmt: skip
    assert between == 0, "there was one call"
    for options, regions, filtered, scanned in (
        ("FILTER => \"ValueFilter(=, 'binary:b')\"", 3, 3, 4),
        ("FILTER => \"RowFilter(=, 'binary:no')\"", 3, 4, 4),
        ("LIMIT => 1", 1, 0, 1),
        ("REVERSED => true", 3, 0, 4),
        ("CACHE => 1", 3, 0, 4),
        ("STARTROW => 'b', STOPROW => 'o'", 2, 0, 2),
    ):
        found = metrics(run(f"scan 'cost', {{ALL_METRICS => true, {options}}}"))
        counted = found["REGIONS_SCANNED"], found["ROWS_FILTERED"], found["ROWS_SCANNED"]
        assert counted == (regions, filtered, scanned), options
        assert found["RPC_CALLS"] == (5 if "CACHE" in options else 1)


COUNTS = [
    "",
    ", INTERVAL => 3",
    ", INTERVAL => 1",
    ", INTERVAL => 7, CACHE => 2",
    ", 4",
    ", INTERVAL => 2, STARTROW => 'r03', STOPROW => 'r09'",
    ", INTERVAL => 2, COLUMNS => ['f:b']",
    ", INTERVAL => 2, COLUMNS => ['f:b', 'f:c', 'f:none'], VERSIONS => 2",
    ", INTERVAL => 2, COLUMNS => ['f:none']",
    ", INTERVAL => 2, COLUMNS => ['f', 'f:b']",
    ", INTERVAL => 2, FILTER => \"ValueFilter(=, 'binary:2')\"",
    ', INTERVAL => 3, FILTER => "PageFilter(5)"',
    ", INTERVAL => 2, LIMIT => 5",
    ", INTERVAL => 2, REVERSED => true",
]


@pytest.mark.parametrize("options", COUNTS)
def test_the_server_counts_as_a_scan_does(run: Run, monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    """Line by line, in tables of one region and of several."""
    asked: list[str] = []
    admin = ShellConnection.admin

    def noted(server: ShellConnection, method: str, *arguments: object) -> object:
        asked.append(method)
        return admin(server, method, *arguments)

    def older(server: ShellConnection, method: str, *arguments: object) -> object:
        if method == "adminAggregate":
            raise ServerError("", "has no adminAggregate", classes=class_names(NotSupported()))
        return admin(server, method, *arguments)

    for table, splits in (("counted", ""), ("counted_regions", ", SPLITS => ['r02', 'r04\\x00', 'r08']")):
        if not any(table == line for line in run("list")):
            run(f"create '{table}', 'f'{splits}")
            for number in range(13):
                run(f"put '{table}', 'r{number:02}', 'f:a', '{number % 4}'")
                run(f"put '{table}', 'r{number:02}', 'f:{'b' if number % 3 else 'c'}', '1'")
        asked.clear()
        monkeypatch.setattr(count, "_LEAST_INTERVAL", 1)
        monkeypatch.setattr(ShellConnection, "admin", noted)
        counted = run(f"count '{table}'{options}")
        monkeypatch.setattr(ShellConnection, "admin", older)
        assert counted == run(f"count '{table}'{options}")
        monkeypatch.undo()
        assert ("adminScan" in asked) == ("LIMIT" in options or "REVERSED" in options)
        if not options:
            assert counted[0] == "13 row(s)"


def test_a_small_interval_makes_no_call_for_each_of_its_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """INTERVAL => 10, as the help has it, asked a hundred times where a scan asks once."""
    asked: list[str] = []
    admin = ShellConnection.admin

    def noted(server: ShellConnection, method: str, *arguments: object) -> object:
        asked.append(method)
        return admin(server, method, *arguments)

    run("create 'small', 'f'")
    for number in range(5):
        run(f"put 'small', 'r{number}', 'f:a', '1'")
    monkeypatch.setattr(ShellConnection, "admin", noted)
    counted = run("count 'small', INTERVAL => 1")
    assert [line for line in counted if "Current count" in line][-1] == "Current count: 5, row: r4"
    assert (asked.count("adminScan"), asked.count("adminAggregate")) == (1, 0)


def test_delete_by_prefix(run: Run) -> None:
    run("put 't', 'p1', 'f:x', 'old', 1; put 't', 'p1', 'f:x', 'new', 2; put 't', 'p2', 'f:x', 'v', 1")
    run("delete 't', {ROWPREFIXFILTER => 'p'}, 'f:x'")
    assert run("scan 't', {ROWPREFIXFILTER => 'p'}")[1:] == [
        " p1 column=f:x, timestamp=1970-01-01T00:00:00.001, value=old",
        "1 row(s)",
    ]
    run("put 't', 'p2', 'f:x', 'v', 1; put 't', 'p3', 'f:y', 'v', 5")
    run("deleteall 't', {ROWPREFIXFILTER => 'p'}, 'f:x'")
    assert run("scan 't', {ROWPREFIXFILTER => 'p'}")[1:] == [
        " p3 column=f:y, timestamp=1970-01-01T00:00:00.005, value=v",
        "1 row(s)",
    ]
    run("put 't', 'q', 'f:x', 'v', 1")
    for time, left in ((4, 1), (5, 0)):
        run(f"deleteall 't', {{ROWPREFIXFILTER => 'p'}}, '', {time}")
        assert run("scan 't', {ROWPREFIXFILTER => 'p'}")[-1] == f"{left} row(s)"
    run("put 't', 'p1', 'f:x', 'v', 1; put 't', 'p2', 'f:x', 'v'; deleteall 't', {ROWPREFIXFILTER => 'p'}")
    assert run("scan 't', {ROWPREFIXFILTER => 'p'}")[1:] == ["0 row(s)"]
    run("put 't', 'p1', 'f:x', 'older, and written later', 1")
    assert run("scan 't', {ROWPREFIXFILTER => 'p'}")[-1] == "1 row(s)"
    run("deleteall 't', {ROWPREFIXFILTER => 'p'}")
    assert "1 row(s)" in run("scan 't', {ROWPREFIXFILTER => 'q'}")
    run("deleteall 't', 'q'")


def test_families_in_arrays_and_splits_in_binary_text(run: Run) -> None:
    assert run(r"create 'made', [{NAME => 'f'}, 'g'], SPLITS => ['\x01', '\x80a']")[0] == "Created table made"
    assert run("get_splits 'arrays'")[1:3] == ["\\x01", "\\x80a"]
    assert "STARTKEY => '\\x01'" in run(r"locate_region 'arrays', '\x02'")[1]


def test_describe_has_the_order_of_hbases_hash_map(run: Run) -> None:
    run("create 'order', {NAME => 'f', IS_MOB => true, MOB_THRESHOLD => 100, NEW_VERSION_BEHAVIOR => true}")
    line = run("describe 'order'")[3]
    assert line.startswith(
        "{NAME => 'f', INDEX_BLOCK_ENCODING => 'NONE', MOB_THRESHOLD => '100', VERSIONS => '1', KEEP"
    )
    assert "IN_MEMORY => 'false', IS_MOB => 'true', COMPRESSION" in line
    assert line.endswith("METADATA => {'NEW_VERSION_BEHAVIOR' => 'true'}}")


def test_unknown_keys_of_alter_are_reported(run: Run) -> None:
    assert run("alter 't', 'nosuch' => 1")[0] == "Unknown argument ignored: nosuch"
    assert run("alter 't', METHOD => 'delete', NAME => 'absent', 'x' => 1")[0] == "Unknown argument ignored: x"


def test_the_default_namespace_by_name(run: Run) -> None:
    assert run("create 'default:d', 'f'") == ["Created table default:d", "=> Hbase::Table - d"]
    assert run("list 'default:d'")[1:3] == ["d", "1 row(s)"]
    assert run("list 'd.*'")[1:3] == ["d", "1 row(s)"]
    assert run("list_namespace 'efaul'")[1:] == ["default", "1 row(s)"]


def test_status_forms(run: Run) -> None:
    detailed = run("status 'detailed'")
    assert detailed[1] == "0 regionsInTransition"
    assert detailed[4] == "master coprocessors: []"
    assert run("status 'replication'")[1] == "1 live servers"


def test_words_of_ruby(run: Run) -> None:
    assert run("x = {LIMIT => 1}; x[LIMIT]") == ["=> 1"]
    assert run("p 'a', 1") == ['"a"', "1", '=> ["a", 1]']
    assert run("print 'a', 1") == ["a1"]
    assert run("debug?") == ["Debug mode is OFF"]
    assert run("scan ('t')") == run("scan 't'")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("version", "version"),
        ("whoami", "user"),
        ("status", "servers"),
        ("status 'simple'", "regions"),
        ("status 'detailed'", "region"),
        ("incr 'arrays', 'a', 'g:c'", "counter"),
        ("get_counter 'arrays', 'a', 'g:c'", "counter"),
        ("append 'arrays', 'a', 'g:z', 'x'", "value"),
        ("get_splits 'arrays'", "row"),
        ("list_regions 't'", "SERVER_NAME"),
        ("show_filters", "filter"),
        ("balancer_enabled", "enabled"),
        ("normalizer_enabled", "enabled"),
        ("normalize", "normalized"),
        ("describe 't'", "name"),
    ],
)
def test_every_format_has_the_answer(run: Run, command: str, expected: str) -> None:
    found = json.loads("\n".join(run(command, "json")))
    assert expected in found[0]
    assert expected in json.loads(run(command, "jsonl")[0])
    # After the rows of another command, which must not lend their columns.
    titles, *rows = run(f"list 't'; {command}", "csv")[2:]
    assert expected in titles.split(",")
    assert rows
    assert expected in "\n".join(run(f"list 't'; {command}", "table")[3:])


def test_the_normalizer(run: Run) -> None:
    assert run("normalizer_switch false") == ["true", "=> true"]
    for command in ("normalizer_enabled", "normalize", "normalize TABLE_NAME => 't'"):
        assert run(command) == ["false", "=> false"]
    assert run("normalizer_switch 'true'") == ["false", "=> false"]
    assert run("normalize TABLE_NAMES => ['t', 'arrays']") == ["true", "=> true"]
    assert run("normalize TABLE_NAME => 'default:t', REGEX => '.*', NAMESPACE => 'default'") == ["true", "=> true"]
    assert run("normalize NAMESPACE => 'none'") == ["true", "=> true"]


def test_single_values_in_csv(run: Run) -> None:
    assert run("exists 't'", "csv") == ["value", "true"]
    assert run("count 't'", "csv") == ["value", "2"]


def test_what_describe_says_can_be_typed(run: Run) -> None:
    run("create 'said', {NAME => 'f', TTL => 90061, BLOCKSIZE => 70000, KEEP_DELETED_CELLS => true}")
    line = run("describe 'said'")[3]
    run(f"create 'again', {line}")
    assert run("describe 'again'")[3] == line


def test_the_families_of_a_reference(run: Run) -> None:
    assert run("x = get_table 't'; x.get_all_columns") == ['=> ["f:", "g:"]']


def test_regions_by_locality_and_columns(run: Run) -> None:
    assert len(run("list_regions 't', {LOCALITY_THRESHOLD => 1.0}, ['SIZE']")) == 4
    assert "LOCALITY_THRESHOLD must be between 0 and 1.0, inclusive" in run(
        "list_regions 't', {LOCALITY_THRESHOLD => -1.0}"
    )
    assert "LOCALITY_THRESHOLD must be a float value" in run("list_regions 't', {LOCALITY_THRESHOLD => 1}")
    assert run("list_regions 't', nil, 'SIZE'")[0].startswith("SIZE must be an array of strings. Possible values are")
    assert "Integer of 5 is not of Hash or String type" in run("list_regions 't', 5")
    assert "only NORMAL or MOB accepted for type!" in run("compact 't', 'f', 'OTHER'")


def test_every_command_has_a_text() -> None:
    assert [name for name in ENTRIES if "no text" in (of_command(name) or "no text")] == []

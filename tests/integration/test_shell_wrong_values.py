"""Options and arguments of the shell's commands take values of every kind and size: the shell says what is wrong in a
message of its own, or the server does; nothing ends in a bug of ours, and what was made can be shown and dropped.
"""

import io
from collections.abc import Callable, Iterator

import pytest

from hbtable.shell.arguments.schema import _ENUMS, _KEPT, _OF_TABLE, _SETTERS
from hbtable.shell.errors import ShellError
from hbtable.shell.invocation import ShellOptions, make_session
from hbtable.shell.language.literals import Value
from tests.harness.tiers import one_in
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

Run = Callable[[str], str]


def _names(*options: Value) -> list[str]:
    return [option.decode() for option in options if isinstance(option, bytes)]


OBEYED = sorted(_names(*_SETTERS, *_ENUMS, b"METADATA", b"CONFIGURATION"))
OBEYED_OF_TABLE = sorted(_names(b"DURABILITY", b"MAX_FILESIZE", b"MEMSTORE_FLUSHSIZE", b"METADATA", b"CONFIGURATION"))
KEPT = sorted(_names(*_KEPT))
KEPT_OF_TABLE = sorted(_names(*_OF_TABLE))
SCAN_OPTIONS = """
COLUMNS COLUMN LIMIT STARTROW STOPROW ENDROW ROWPREFIXFILTER TIMESTAMP TIMERANGE FILTER VERSIONS CACHE CACHE_BLOCKS
BATCH MAXLENGTH RAW REVERSED ALL_METRICS METRICS FORMATTER FORMATTER_CLASS ATTRIBUTES MAX_RESULT_SIZE ISOLATION_LEVEL
READ_TYPE"""
GET_OPTIONS = "COLUMN COLUMNS TIMESTAMP TIMERANGE VERSIONS FILTER MAXLENGTH CONSISTENCY"
LITERALS = r"""
nil true false 0 1 -1 2147483647 2147483648 1099511627776 9223372036854775807 9223372036854775808 18446744073709551616
10000000000000000000000 1.5 -0.5 1e30 '' 'm' 'f:m' '12' '1_DAY' '99999999999_DAYS' '-1' 'nan' "\x00" "\xff\xfe" [] ['m']
['f:m','f:n'] [1] [nil] [[]] [0,5] [5,0] [-1,5] ['a','b','c'] {} {'a'=>'b'} {'a'=>nil} {1=>2} {NAME=>'f'} NAME
Float::NAN"""
VALUES = [
    *(literal.replace("_DAY", " DAY") for literal in LITERALS.split()),
    f"1{'0' * 5000}",
    "0x" + "f" * 5000,
    f"'{'x' * 300}'",
    f"'{'x' * 40_000}'",
]
COMMANDS = [
    *(f"create 'made', {{NAME => 'f', {option} => %s}}" for option in OBEYED),
    *(f"create 'made', 'f', {option} => %s" for option in OBEYED_OF_TABLE),
    *(f"alter 'there', {{NAME => 'f', {option} => %s}}" for option in KEPT),
    *(f"alter 'there', {option} => %s" for option in KEPT_OF_TABLE),
    *(f"scan 't', {{{option} => %s}}" for option in SCAN_OPTIONS.split()),
    *(f"get 't', 'a', {{{option} => %s}}" for option in GET_OPTIONS.split()),
    *"""\
put 't', %s, 'f:m', 'v'
put 't', 'm', %s, 'v'
put 't', 'm', 'f:m', %s
put 't', 'm', 'f:m', 'v', %s
put 't', 'm', 'f:m', 'v', {TTL => %s}
delete 't', 'm', %s
delete 't', 'm', 'f:m', %s
deleteall 't', 'm', %s
incr 't', 'c', 'f:c', %s
append 't', 'm', 'f:m', %s
get %s, 'a'
get 't', %s
get_counter 't', 'c', %s
count 't', %s
count 't', INTERVAL => %s, CACHE => %s
create %s, 'f'
create 'made', %s
create 'made', 'f', SPLITS => %s
create 'made', 'f', SPLITS_FILE => %s
create 'made', 'f', NUMREGIONS => %s, SPLITALGO => 'HexStringSplit'
create_namespace %s
create_namespace 'n', {'a' => %s}
alter_namespace 'n', {METHOD => 'set', 'a' => %s}
describe %s
exists %s
list %s
flush %s
compact 't', %s
split 't', %s
move %s
merge_region %s, %s
balance_switch %s""".splitlines(),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Executes a line in the one session; what it printed, with the error's message."""
    with WarmServer(tmp_path_factory.mktemp("shell") / "data", ["log.durability=os"]) as server:
        stream = io.StringIO()
        session = make_session(ShellOptions(f"127.0.0.1:{server.port}"), lambda question: True, stream=stream)

        def answer(text: str) -> str:
            stream.seek(0)
            stream.truncate()
            try:
                session.execute(text)
            except ShellError as error:
                stream.write(f"ERROR: {error}\n")
            session.context.out.flush()
            return stream.getvalue()

        answer("create 't', {NAME => 'f', VERSIONS => 10}\ncreate 'there', 'f'")
        answer("\n".join(f"put 't', 'a{number}', 'f:m', '{number}'" for number in range(20)))
        yield answer
        session.context.server.close()
        server.kill()
        server.start()
        connection = server.connect()
        rows = dict(connection.table("t").scan(row_start=b"a", row_stop=b"b"))
        assert {row: data[b"f:m"] for row, data in rows.items()} == {b"a%d" % n: b"%d" % n for n in range(20)}
        connection.close()
        assert server.stop() == 0
        assert "Traceback" not in server.errors.read_text()


@pytest.mark.parametrize("command", one_in(4, COMMANDS))
def test_values_of_every_kind(run: Run, command: str) -> None:
    for value in VALUES:
        said = run(command.replace("%s", value))
        assert "internal error" not in said, command.replace("%s", value)
        assert "ERROR: \n" not in said, command.replace("%s", value)
    for name in ("made", "m", "f:m", "12", "true", "nan", "x" * 300):
        if "does exist" in run(f"exists '{name}'"):
            run(f"disable '{name}'")
            said = run(f"drop '{name}'")
            assert "ERROR" not in said, name

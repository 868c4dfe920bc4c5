"""Every message of the shell that refuses names what to do next; an option that is none is never passed over."""

import contextlib
import io
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hbtable.shell.arguments.known_options import OPTIONS
from hbtable.shell.catalogue import ENTRIES
from hbtable.shell.invocation import ShellOptions
from hbtable.shell.main import run_lines
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration
Errors = Callable[[str], list[str]]
SETUP = "create 'flights', 'f', 'g'\ncreate 'closed', 'f'\ndisable 'closed'\ncreate_namespace 'sky'\n"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with WarmServer(tmp_path_factory.mktemp("data") / "data") as server:
        yield f"127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def errors(address: str) -> Errors:
    """Lines of standard error."""
    return errors_of(address)


@pytest.fixture(scope="module")
def errors_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Errors]:
    """Of a server of its own, for commands that leave tables behind."""
    with WarmServer(tmp_path_factory.mktemp("elsewhere") / "data") as server:
        yield errors_of(f"127.0.0.1:{server.port}")


def errors_of(address: str) -> Errors:
    def run(script: str, form: str = "hbase") -> list[str]:
        out, found = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(found):
            run_lines(ShellOptions(address, interactive=False, format=form), iter(script.splitlines(True)))
        return found.getvalue().splitlines()

    assert run(SETUP) == []
    return run


@pytest.mark.parametrize(
    ("line", "message", "way_out"),
    [
        ("get 'flihts', 'r'", "RuntimeError: Unknown table flihts!", "did you mean flights?"),
        ("scan 'nope'", "RuntimeError: Unknown table nope!", "the tables are closed, flights"),
        ("describe 'nope'", "ArgumentError: Table nope does not exist.", "the tables are closed, flights"),
        ("drop 'clsed'", "ArgumentError: Table clsed does not exist.", "did you mean closed?"),
        ("alter 'nope', 'f'", "ArgumentError: Can't find a table: nope", "the tables are closed, flights"),
        (
            "drop 'flights'",
            "ArgumentError: Table flights is enabled. Disable it first.",
            "disable 'flights' takes it out",
        ),
        ("scan 'closed'", "RuntimeError: Table closed is disabled!", "enable 'closed' puts it back"),
        ("put 'closed', 'r', 'f:', 'v'", "RuntimeError: Table closed is disabled!", "enable 'closed' puts it back"),
        ("list_regions 'closed'", "RuntimeError: Table closed must be enabled.", "enable 'closed' puts it back"),
        (
            "create 'sy:t', 'f'",
            "RuntimeError: Unknown namespace sy!",
            "did you mean sky?; create_namespace 'sy' makes it",
        ),
        ("drop_namespace 'no'", "RuntimeError: Unknown namespace no!", "the namespaces are default, hbase, sky"),
        ("descibe 'flights'", "NoMethodError: undefined method `descibe'", "did you mean describe"),
        ("show tables", "NoMethodError: undefined method `show'", "did you mean list?"),
        ("xyzzy", "NameError: undefined local variable or method `xyzzy'", "help lists the commands"),
        (
            "scan 'flights', {LIMITS => 1}",
            "HBaseReceiver::LIMITS",
            "did you mean LIMIT? the options of scan are COLUMN, ",
        ),
        (
            "create 't', {NAME => 'f', VERSION => 1}",
            "HBaseReceiver::VERSION",
            "did you mean VERSIONS? the options of cre",
        ),
        ("get 'flights', 'r', {'COLUM' => 'f'}", "Failed parse of", "get has no option COLUM; did you mean COLUMN?"),
        ("merge_region 'a', 'b'", "Can't invoke merge on unknown region a", "list_regions 'TABLE' shows the names of"),
        ("move 'flights'", "UnknownRegionException: flights", "list_regions 'flights' shows the names of"),
        ("reopen_regions 'flights', ['a']", "a is no encoded name", "list_regions 'flights' shows the names of"),
        ("recommission_regionserver 'x'", "Could not find any server(s)", "the servers are 127.0.0.1,"),
        ("compact_rs 'x'", "Could not find any server(s)", "the servers are 127.0.0.1,"),
        ("flush 'flights', 'x'", "Column families [x] don't exist in table flights", "it has f, g"),
        ("scan 'flights', {COLUMNS => 'x:a'}", "Column family x does not exist in table flights; it has f, g", ""),
    ],
)
def test_what_is_refused_and_what_to_do(errors: Errors, line: str, message: str, way_out: str) -> None:
    found = errors(line + "\n")
    assert message in found[0]
    assert any(way_out in one for one in found[1:]) or not way_out, found


def test_many_tables_are_not_listed(errors: Errors) -> None:
    errors("".join(f"create 'many{number:02d}', 'f'\n" for number in range(10)))
    assert "  list shows the 12 tables that there are" in errors("scan 'xyz'\n")
    errors("".join(f"disable 'many{number:02d}'\ndrop 'many{number:02d}'\n" for number in range(10)))


ARGUMENTS = {
    "status": "'simple'",
    "deleteall": "'flights', 'r'",
    "wal_roll": "'none'",
    "hlog_roll": "'none'",
    "sleep": "0",
}
FREE = {"p", "puts", "print", "help", "create_namespace", "alter_namespace"}
"""Their hashes are values, or named by the person."""
LEAVE = {"exit", "quit"}


def called(name: str) -> str:
    """As many arguments as it needs, and a hash; names are of things that the sweep does not miss."""
    entry = ENTRIES[name]
    values = ["'flights'", "'r'", "'f:q'", "'1'", "'2'"][: max(entry.least, 1) - (entry.most == entry.least > 1)]
    given = ARGUMENTS.get(name, ", ".join(values if entry.most != 0 else []))
    return f"{name} {given}{', ' if given else ''}{{'NO_SUCH' => 1}}"


@pytest.mark.parametrize("form", ["hbase", "json"])
@pytest.mark.parametrize("name", sorted(set(ENTRIES) - LEAVE - FREE))
def test_every_command_says_what_it_makes_of_an_unknown_option(errors_elsewhere: Errors, name: str, form: str) -> None:
    errors = errors_elsewhere
    found = errors(called(name) + "\n", form)  # type: ignore[call-arg]
    assert found, called(name)
    assert "Traceback" not in "".join(found)
    if name in OPTIONS and "wrong number of arguments" not in found[0]:
        text = "\n".join(found)
        assert "NO_SUCH" in text
        assert all(option in text for option in OPTIONS[name])
    errors("create 'flights', 'f', 'g'\n")  # whatever the command was


@pytest.mark.parametrize("name", ["scan", "count"])
@pytest.mark.parametrize("option", ["LIMIT", "CACHE", "BATCH", "VERSIONS", "TIMESTAMP", "MAXLENGTH", "REVERSED"])
def test_known_options_are_not_complained_of(errors: Errors, name: str, option: str) -> None:
    assert errors(f"{name} 'flights', {{'{option}' => 5}}\n") == []


def hbtable(*words: str) -> "subprocess.CompletedProcess[str]":
    return run_warm(*words)


@pytest.mark.usefixtures("errors")
def test_commands_of_hbtables_own_speak_no_java(address: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("HBASE_ROW_KEY,x:q\na,1\n")
    for words in (
        ("put", "flights", "r", "x:q", "v"),
        ("export", "flights", "-o", str(tmp_path / "out.csv"), "--columns", "x:q"),
    ):
        refused = hbtable(words[0], "--url", address, *words[1:])
        assert refused.returncode == 1
        assert refused.stderr == (
            "NoSuchColumnFamilyException: Column family x does not exist in table flights; it has f, g\n"
        )
    refused = hbtable("import", "--url", address, "flights", str(rows))
    assert (refused.returncode, "java" in refused.stderr) == (1, False)
    assert f"{rows}, line 2: row a: table flights has no family x; its families are f, g; " in refused.stderr
    assert hbtable("drop", "--url", address, "flights").stderr.splitlines()[1] == (
        "  hbtable disable flights takes it out of service"
    )
    assert hbtable("import", "--url", address, "fligts", str(rows)).stderr.splitlines() == [
        "RuntimeError: Unknown table fligts!",
        "  did you mean flights?",
    ]


def test_a_file_as_data_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not ours")
    for words in (("start", "--port", "0", "--data"), ("check",), ("repair",)):
        refused = hbtable(*words, str(file))
        assert "is no hbtable data folder: it is a file; name a folder, which" in refused.stderr
        assert refused.returncode != 0
    assert file.read_text() == "not ours"
    assert "it is not there; name the one that" in hbtable("check", str(tmp_path / "none")).stderr

"""The ten everyday mistakes of docs/manual/messages.md, each made: what is said is what stands there, and the other way
around."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import happybase
import pytest

import hbtable
from hbtable.access.passwords import PasswordHash
from hbtable.access.store import AccountFile
from tests.harness.commands import ROOT, run, run_python
from tests.harness.free_ports import free_ports
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


def rows() -> dict[str, list[str]]:
    """By the first words of each mistake, the texts that stand there."""
    page = Path(ROOT, "docs", "manual", "messages.md").read_text()
    section = page.split("## Ten everyday mistakes\n")[1].split("\n## ")[0]
    lines = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    return {mistake.removeprefix("| "): re.findall("`([^`]+)`", said) for mistake, said, _ in lines}


ROWS = rows()


def told(call: Callable[[], object]) -> str:
    """What is seen of the error."""
    try:
        call()
    except Exception as error:
        message = getattr(error, "message", None)
        text = message.decode() if isinstance(message, bytes) else str(error)
        return f"{type(error).__name__}: {text}"
    raise AssertionError("no error")


def check(mistake: str, said: list[str]) -> None:
    """Each text of the row was said, and each thing said has its text."""
    patterns = [".+".join(map(re.escape, text.split("..."))) for text in ROWS[mistake]]
    assert [text for text in said if not any(re.search(one, text, re.DOTALL) for one in patterns)] == []
    assert [one for one in patterns if not any(re.search(one, text, re.DOTALL) for text in said)] == []


@pytest.fixture
def db() -> Iterator[hbtable.EmbeddedDatabase]:
    with hbtable.open(":memory:") as database:
        database.create_table("orders", ["o"]).put("r", {"o:a": "1"})
        yield database


@pytest.fixture
def program(db: hbtable.EmbeddedDatabase) -> Iterator[happybase.Connection]:
    connection = happybase.Connection("127.0.0.1", db.serve(port=0))
    yield connection
    connection.close()


def test_there_are_ten_and_each_is_made_here() -> None:
    assert len(ROWS) == 10
    source = Path(__file__).read_text()
    assert [mistake for mistake in ROWS if f'"{mistake}"' not in source] == []


def test_a_port_in_use(db: hbtable.EmbeddedDatabase, tmp_path: Path) -> None:
    port = db.serve(port=0)
    check("the port is taken", [run("start", "--data", str(tmp_path / "data"), "--port", str(port)).stderr])


def test_no_server() -> None:
    port = free_ports(1)
    said = [told(lambda: hbtable.connect("127.0.0.1", port)), run("list", "--url", f"127.0.0.1:{port}").stderr]
    check("no server runs", [*said, told(lambda: happybase.Connection("127.0.0.1", port))])


def test_two_processes_and_one_folder(tmp_path: Path) -> None:
    with hbtable.open(tmp_path / "data"):
        other = run_python(f"import hbtable\nhbtable.open({str(tmp_path / 'data')!r})\n", str(tmp_path))
    check("two processes want one folder", [other.stderr])


def test_no_happybase() -> None:
    command = [sys.executable, "-I", "-S", "-c", "import happybase"]  # without what is installed
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check("happybase is not installed", [done.stderr])


def test_text_and_numbers(db: hbtable.EmbeddedDatabase, program: happybase.Connection) -> None:
    number: Any = 1
    name: Any = "o:a"
    table = db.table("orders")
    said = [
        told(lambda: table.row("r")[name]),
        told(lambda: table.put("r", {"o:a": number})),
        told(lambda: program.table("orders").put(b"r", {b"o:a": number})),
    ]
    check("text where bytes are, or a number", said)


def test_a_family_that_is_not_there(db: hbtable.EmbeddedDatabase, program: happybase.Connection) -> None:
    said = [
        told(lambda: db.table("orders").put("r", {"p:a": "1"})),
        told(lambda: program.table("orders").put(b"r", {b"p:a": b"1"})),
        told(lambda: db.table("orders").put("r", {"a": "1"})),
    ]
    check("a family that the table lacks", said)


def test_a_table_that_is_there_or_not(db: hbtable.EmbeddedDatabase, program: happybase.Connection) -> None:
    said = [
        told(lambda: db.create_table("orders", ["o"])),
        told(lambda: program.create_table("orders", {"o": {}})),
        told(lambda: db.table("order").row("r")),
        told(lambda: program.table("order").row(b"r")),
    ]
    check("the table is there already, or is not", said)


def test_a_disabled_table(db: hbtable.EmbeddedDatabase, program: happybase.Connection) -> None:
    db.disable_table("orders")
    said = [told(lambda: db.table("orders").row("r")), told(lambda: program.table("orders").row(b"r"))]
    check("the table is disabled", said)


def test_a_wrong_password_and_tls_to_a_plain_port(db: hbtable.EmbeddedDatabase, tmp_path: Path) -> None:
    plain = db.serve(port=0)
    AccountFile(str(tmp_path / "data")).change(lambda known: known.with_user("ann", PasswordHash.of("correct horse")))
    secret = tmp_path / "secret"
    secret.write_text("wrong")
    secret.chmod(0o600)
    said = [told(lambda: hbtable.connect("127.0.0.1", plain, tls=True))]
    said.append(run("list", "--tls", "--url", f"127.0.0.1:{plain}").stderr)
    with WarmServer(tmp_path / "data", ["auth.enabled=true", "auth.plain_text=true"]) as server:
        said.append(told(lambda: hbtable.connect("127.0.0.1", server.port, user="ann", secret=str(secret))))
    check("the password is wrong, or TLS goes to a port without it", said)


@pytest.mark.verify
def test_a_full_disk(small_disk: Path) -> None:
    ballast = small_disk / "large"
    ballast.write_bytes(bytes(24 << 20))
    config: dict[str, str | int | float | bool] = {"tablet.memtable_bytes": "2 MiB", "log.segment_bytes": "2 MiB"}
    with hbtable.open(small_disk / "data", durability="os", config=config) as db:
        table = db.create_table("orders", ["o"])
        said: set[str] = set()
        for number in range(40_000):
            try:
                table.put(b"%06d" % number, {b"o:a": bytes(1000)})
            except hbtable.OutOfSpace as error:
                said.add(str(error))
                if len(said) > 50 or number > 39_000:
                    break
        ballast.unlink()
    print(said)
    check("the disk is full", sorted(said))

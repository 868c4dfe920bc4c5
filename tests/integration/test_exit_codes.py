"""Exit codes of all commands are those of the table in docs/operations.md."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hbtable.access.passwords import PasswordHash
from hbtable.access.store import AccountFile
from hbtable.launch.cli.command import main
from tests.harness.certificates import CA, put_ca, put_certificate
from tests.harness.commands import ROOT, run
from tests.harness.free_ports import free_ports
from tests.harness.tiers import one_in
from tests.harness.waiting import SOON_SECONDS
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

OF_A_TABLE = {
    "append": ("none", "r", "f:a", "x"),
    "count": ("none",),
    "delete": ("none", "r", "f:a"),
    "deleteall": ("none", "r"),
    "describe": ("none",),
    "disable": ("none",),
    "drop": ("none",),
    "enable": ("none",),
    "export": ("none", "-o", "out.jsonl"),
    "get": ("none", "r"),
    "get_counter": ("none", "r", "f:a"),
    "import": ("none", "in.jsonl"),
    "incr": ("none", "r", "f:a"),
    "put": ("none", "r", "f:a", "x"),
    "scan": ("none",),
    "sql": ('select * from "none"',),
    "truncate": ("none",),
    "why": ("none", "r"),
}
"""With arguments that a server refuses, as it has no such table."""
OF_A_SERVER = {
    **OF_A_TABLE,
    "bench": (),
    "create": ("t", "f"),
    "exists": ("t",),
    "grant": ("ann", "R"),
    "list": (),
    "revoke": ("ann",),
    "shell": ("-e", "list"),
    "status": (),
    "user_permission": (),
    "whoami": (),
}
BY_ADDRESS = {"copy": ("--from", "--to"), "shadow": ("--primary", "--secondary")}
ALONE = (
    "check",
    "cluster-key",
    "config",
    "demo",
    "master",
    "repair",
    "start",
    "tabletserver",
    "thrift",
    "user",
    "version",
)


def documented() -> dict[str, dict[int, str]]:
    """What each exit code means, by command."""
    section = (
        Path(ROOT, "docs", "operations.md").read_text().split("### Exit codes of the commands\n")[1].split("\n## ")[0]
    )
    found: dict[str, dict[int, str]] = {}
    for line in section.splitlines():
        if not line.startswith("| `"):
            continue
        names, *codes = (cell.strip() for cell in line.strip("|").split(" | "))
        meanings = {code: cell for code, cell in zip((0, 1, 2, 3, 4, 130), codes, strict=True) if cell != "-"}
        for name in re.findall("`([^`]+)`", names):
            assert name not in found, f"{name} stands there twice"
            found[name] = meanings
    return found


TABLE = documented()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text("")


def invoked(*words: str) -> Result:
    """In this process."""
    return CliRunner().invoke(main, words, prog_name="hbtable")


def expect(name: str, code: int, done: Result) -> None:
    assert done.exit_code == code, done.output
    assert code in TABLE[name]
    assert "Traceback" not in done.output


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("data") / "data") as running:
        yield running


def test_every_command_is_in_the_table_and_here() -> None:
    assert set(TABLE) == set(main.commands)
    assert {*OF_A_SERVER, *BY_ADDRESS, *ALONE} == set(main.commands)
    asked = {name for name in main.commands if "--url" in CliRunner().invoke(main, [name, "--help"]).output}
    assert asked - {"copy"} == set(OF_A_SERVER)  # its help mentions --url


@pytest.mark.parametrize("name", sorted(main.commands))
def test_an_option_that_is_none_is_misuse(name: str) -> None:
    expect(name, 3 if name == "check" else 2, invoked(name, "--no-such-option"))


@pytest.mark.parametrize("name", sorted(OF_A_SERVER))
def test_no_server(name: str) -> None:
    expect(name, 3, invoked(name, "--url", f"127.0.0.1:{free_ports(1)}", *OF_A_SERVER[name]))


@pytest.mark.parametrize("name", sorted(BY_ADDRESS))
def test_no_server_at_an_address(name: str) -> None:
    free = free_ports(len(BY_ADDRESS[name]))
    places = enumerate(BY_ADDRESS[name], free)
    words = [word for port, option in places for word in (option, f"thrift://127.0.0.1:{port}")]
    words += ["--port", "0"] if name == "shadow" else []
    expect(name, 3, invoked(name, *words))


@pytest.mark.parametrize("name", sorted(OF_A_TABLE))
def test_what_a_server_refuses(server: WarmServer, name: str) -> None:
    done = invoked(name, "--url", f"127.0.0.1:{server.port}", *OF_A_TABLE[name])
    expect(name, 1, done)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WarmServer, Path]]:
    """One that asks who somebody is, over TLS alone; the folder with secrets."""
    folder = tmp_path_factory.mktemp("secured")
    certificate, key = put_certificate("server", folder)
    AccountFile(str(folder / "data")).change(lambda users: users.with_user("ann", PasswordHash.of("the right one")))
    put_ca(folder, "part-ca")
    for name in ("right", "wrong"):
        (folder / name).write_text(f"the {name} one")
        (folder / name).chmod(0o600)
    defines = ["auth.enabled=true", f"tls.certificate={certificate}", f"tls.key={key}", "tls.required=true"]
    with WarmServer(folder / "data", defines) as running:
        yield running, folder


WRONG = "did not let .* in: (the user or the password is wrong|too many wrong passwords)"
LOGINS = {
    "none": (["--ca", CA], "this server asks its clients who they are"),
    "without TLS": (["--user", "ann", "--secret", "right"], "TLS"),
    "wrong password": (["--ca", CA, "--user", "ann", "--secret", "wrong"], WRONG),
    "unknown user": (["--ca", CA, "--user", "zoe", "--secret", "right"], WRONG),
    "no such file": (["--ca", CA, "--user", "ann", "--secret", "nowhere"], "cannot be used: No such file"),
    "another CA": (["--ca", "ca.pem", "--user", "ann", "--secret", "right"], "certificate"),
}


@pytest.mark.parametrize("way", LOGINS)
@pytest.mark.parametrize("name", one_in(4, sorted(OF_A_SERVER)))
def test_a_wrong_login_is_a_sentence_at_once(
    secured: tuple[WarmServer, Path], monkeypatch: pytest.MonkeyPatch, name: str, way: str
) -> None:
    server, folder = secured
    monkeypatch.chdir(folder)
    (folder / "in.jsonl").write_text("")
    options, words = LOGINS[way]
    began = time.monotonic()
    done = invoked(name, "--url", f"localhost:{server.port}", *options, *OF_A_SERVER[name])
    assert re.search(words, done.output), done.output
    assert done.exit_code in ((2,) if way == "no such file" else (1, 2, 3))
    expect(name, done.exit_code, done)
    assert "nowhere" not in done.output, "some type the secret itself there"
    assert time.monotonic() - began < SOON_SECONDS


@pytest.mark.parametrize("name", sorted({"list", "status", "whoami", "exists", "shell", "user_permission"}))
def test_what_a_server_does(server: WarmServer, name: str) -> None:
    expect(name, 0, invoked(name, "--url", f"127.0.0.1:{server.port}", *OF_A_SERVER[name]))


@pytest.mark.parametrize("name", ["start", "master", "tabletserver", "thrift"])
def test_a_wrong_configuration(name: str) -> None:
    done = run(name, "-D", "nonsense")
    assert done.returncode == 2, done.stderr
    assert 2 in TABLE[name]


def test_what_is_there_already(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("mine")
    expect("cluster-key", 1, invoked("cluster-key", str(tmp_path / "key")))
    expect("repair", 1, invoked("repair", str(tmp_path / "nowhere")))
    expect("check", 3, invoked("check", str(tmp_path / "nowhere")))
    expect("config", 0, invoked("config"))
    expect("version", 0, invoked("version"))

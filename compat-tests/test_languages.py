"""Programs in other languages, each with code that the Thrift compiler generated from thrift/hbase.thrift or
thrift/hbase2.thrift, and one over HBase's own client in Java.

`make compat` builds them first. Where a toolchain is missing a test is skipped by name; under CI it fails.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.access.passwords import PasswordHash
from hbtable.access.store import AccountFile
from tests.harness import kdc, languages
from tests.harness.certificates import CA, put_certificate
from tests.harness.commands import LONG_SECONDS
from tests.harness.server import ServerProcess
from tests.harness.tiers import crossed, taking_turns

PAGE = Path(__file__).resolve().parents[1] / "docs" / "clients.md"
SOURCES = {
    "py": ["python/program.py"],
    "java": ["java/Program.java", "java-thrift2/Program.java"],
    "js": ["node/program.js"],
    "go": ["go/main.go"],
    "cpp": ["cpp/program.cpp"],
    "php": ["php/program.php"],
    "ruby": ["ruby/program.rb"],
}
"""By the languages of the page's blocks."""
CHECKS = 32  # in every language, so that none forgets one
CHECKS_OF_THRIFT2 = 31
CHECKS_OF_HBASE_CLIENT = 35
SECRET = "correct horse"
ALL = ["python", "node", "java", "go", "php", "ruby", "cpp"]
PROTOCOLS = ["binary", "compact"]
FORMS = [f"{transport} {protocol}" for transport in ("buffered", "framed") for protocol in PROTOCOLS]

pytestmark = [pytest.mark.languages]


def marked(language: str) -> object:
    return pytest.param(language, marks=pytest.mark.java) if language.startswith("java") else language


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> Path:
    return built(request.param)


def built(language: str) -> Path:
    if reason := languages.missing(language):
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    path = languages.program(language)
    assert path.exists(), "python -m tests.harness.languages builds it, as make compat does"
    return path


@pytest.mark.parametrize("language", SOURCES)
def test_the_lines_that_the_page_shows_are_those_of_the_programs(language: str) -> None:
    sources = [(languages.LANGUAGES / name).read_text() for name in SOURCES[language]]
    run = {line.strip() for source in sources for line in source.splitlines()}
    shown = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert shown
    assert [line for block in shown for line in block.splitlines() if line.strip() not in run] == []


@pytest.mark.parametrize(
    ("program", "form"), taking_turns(crossed(map(marked, languages.COMMANDS), FORMS), 4), indirect=["program"]
)
def test_language(address: tuple[str, int], program: Path, form: str) -> None:
    run_checks(program, address, *form.split())


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The address of a server that asks who its clients are."""
    folder: Path = tmp_path_factory.mktemp("asking")
    users = AccountFile(str(folder / "data"))
    users.change(lambda accounts: accounts.with_user("ann", PasswordHash.of(SECRET)))
    with ServerProcess(folder / "data", ["auth.enabled=true", "auth.plain_text=true", "auth.superusers=ann"]) as server:
        yield "127.0.0.1", server.port
        assert server.stop() == 0


@pytest.mark.parametrize(("language", "protocol"), taking_turns(crossed(map(marked, ["java", "python"]), PROTOCOLS), 2))
def test_language_with_a_login(asking: tuple[str, int], language: str, protocol: str) -> None:
    """The others' libraries have no SASL."""
    run_checks(built(language), asking, "sasl", protocol)


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The address of a server that speaks TLS alone, and asks nobody who he is."""
    folder: Path = tmp_path_factory.mktemp("encrypted")
    certificate, key = put_certificate("server", folder)
    defines = [f"tls.certificate={certificate}", f"tls.key={key}", "tls.required=true"]
    with ServerProcess(folder / "data", defines) as server:
        yield "localhost", server.port
        assert server.stop() == 0


@pytest.fixture(scope="module")
def encrypted_asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The address of one that does both."""
    folder: Path = tmp_path_factory.mktemp("encrypted-asking")
    certificate, key = put_certificate("server", folder)
    users = AccountFile(str(folder / "data"))
    users.change(lambda accounts: accounts.with_user("ann", PasswordHash.of(SECRET)))
    defines = [f"tls.certificate={certificate}", f"tls.key={key}", "auth.enabled=true", "auth.superusers=ann"]
    with ServerProcess(folder / "data", defines) as server:
        yield "localhost", server.port
        assert server.stop() == 0


@pytest.mark.parametrize(("language", "protocol"), taking_turns(crossed(map(marked, ALL), PROTOCOLS), 2))
def test_language_over_tls(encrypted: tuple[str, int], language: str, protocol: str) -> None:
    run_checks(built(language), encrypted, "tls", protocol)


@pytest.mark.parametrize(("language", "protocol"), taking_turns(crossed(map(marked, ALL[:-1]), PROTOCOLS), 2))
def test_language_over_https_with_a_login(encrypted_asking: tuple[str, int], language: str, protocol: str) -> None:
    """C++'s library adds no header to its requests."""
    run_checks(built(language), encrypted_asking, "https", protocol)


@pytest.mark.java
@pytest.mark.parametrize(("way", "protocol"), taking_turns(crossed(["tls", "sasl", "https"], PROTOCOLS), 2))
def test_hbases_own_client_in_each_way(
    way: str, protocol: str, encrypted: tuple[str, int], asking: tuple[str, int], encrypted_asking: tuple[str, int]
) -> None:
    """With a class that makes its clients, for it has no settings for them."""
    address = {"tls": encrypted, "sasl": asking, "https": encrypted_asking}[way]
    run_checks(built("java-thrift2"), address, way, protocol)


@pytest.mark.java
@pytest.mark.parametrize(
    ("language", "qop"), taking_turns(crossed(["java", "java-thrift2"], ["auth", "auth-int", "auth-conf"]), 3)
)
def test_java_with_kerberos(kerberized_server: ServerProcess, realm: kdc.Kdc, language: str, qop: str) -> None:
    tickets = realm.log_in("ann", "a-password")
    # Java's own lines for it (docs/clients.md): the ticket of kinit, and no login by JAAS.
    options = f"-Djavax.security.auth.useSubjectCredsOnly=false -Djava.security.krb5.conf={tickets['KRB5_CONFIG']}"
    address = "localhost", kerberized_server.port
    more = {**tickets, "JDK_JAVA_OPTIONS": options, "LANGUAGES_QOP": qop}
    for protocol in ("binary", "compact"):
        run_checks(built(language), address, "kerberos", protocol, **more)


def run_checks(program: Path, address: tuple[str, int], transport: str, protocol: str, **more: str) -> None:
    host, port = address
    login = {"LANGUAGES_USER": "ann", "LANGUAGES_SECRET": SECRET, "LANGUAGES_CA": CA, **more}
    environment = {**os.environ, **login, "PYTHON": sys.executable}
    command = [str(program), host, str(port), transport, protocol]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONG_SECONDS)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
    said = re.fullmatch(r"ok (\d+)\n", run.stdout)
    assert said is not None, run.stdout[-4000:]
    language = program.parent.name.rpartition("-")[0]
    if language == "java-thrift2":
        assert int(said.group(1)) == CHECKS_OF_HBASE_CLIENT
    else:
        assert int(said.group(1)) == (CHECKS_OF_THRIFT2 if language.endswith("-thrift2") else CHECKS)

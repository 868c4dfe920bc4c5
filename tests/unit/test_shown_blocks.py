"""Which blocks of the documents no test runs where they stand, each with the reason or the test that does what it says.

tests/integration/test_documents.py runs all others: pages of the manual from top to end, the library's page block by
block. docs/formats.md and docs/manual/messages.md are compared with the program by tests of their own.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.harness.commands import ROOT

_FENCED: Final = re.compile(r"^ *```(\S*)([^\n]*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_INDENTED: Final = re.compile(r"(?:^|\n\n)((?:    \S.*\n(?:\n(?=    \S))?)+)")
_RUN: Final = {"python", "output", "console"}
_COMPARED: Final = {"formats.md", "messages.md"}

_LANGUAGES: Final = "compat-tests/test_languages.py"
_WAYS_IN: Final = "compat-tests/test_ways_in.py"
_SECURITY_PAGE: Final = "compat-tests/test_security_page.py"
_ROLES: Final = "cluster-tests/test_typed_by_hand.py"
_BY_HAND: Final = "is run by hand, with the figures beside it: it measures for many minutes"
SHOWN: Final = {
    ("README.md", "import happybase"): "tests/integration/test_commands.py",
    ("README.md", "import hbtable"): "tests/integration/test_commands.py",
    ("README.md", "make run "): ".ci/bare-debian",
    ("README.md", "make native"): _ROLES,
    ("README.md", "bin/hbtable shell --url"): _ROLES,
    ("README.md", "kill %1"): _ROLES,
    ("CONTRIBUTING.md", "git clone"): "is what CI does, with `make test` for one package",
    ("CONTRIBUTING.md", "master: place tablets"): "tests/architecture/test_commit_subjects.py",
    ("docs/architecture.md", "clients of HBase Thrift1"): "is a picture",
    ("docs/benchmarks.md", "make bench-hbase"): _BY_HAND,
    ("docs/benchmarks.md", "make bench-hdfs"): _BY_HAND,
    ("docs/clients.md", "import functools"): _WAYS_IN,
    ("docs/clients.md", "import base64, gssapi"): "compat-tests/test_spnego.py",
    ("docs/clients.md", "safe = TSSLSocket"): _LANGUAGES,
    ("docs/clients.md", "return TSaslClientTransport"): _LANGUAGES,
    ("docs/clients.md", "posts = THttpClient"): _LANGUAGES,
    ("docs/clients.md", "return new TSocket"): _LANGUAGES,
    ("docs/clients.md", "HttpsURLConnection"): _LANGUAGES,
    ("docs/clients.md", "transport = new"): _LANGUAGES,
    ("docs/clients.md", "Map<String"): _LANGUAGES,
    ("docs/clients.md", "configuration.set"): _LANGUAGES,
    ("docs/clients.md", "$context = "): _LANGUAGES,
    ("docs/clients.md", "context = OpenSSL"): _LANGUAGES,
    ("docs/clients.md", "posts = Thrift::"): _LANGUAGES,
    ("docs/clients.md", "const connection"): _LANGUAGES,
    ("docs/clients.md", "const nodeOptions"): _LANGUAGES,
    ("docs/clients.md", "config.TLSConfig"): _LANGUAGES,
    ("docs/clients.md", "client := &http"): _LANGUAGES,
    ("docs/clients.md", "factory.load"): _LANGUAGES,
    ("docs/clients.md", "connection = happybase"): _WAYS_IN,
    ("docs/data.md", "hbtable sql"): "tests/integration/test_sql.py",
    ("docs/data.md", "hbtable export orders"): "tests/integration/test_transfer.py",
    ("docs/hdfs.md", "[cluster]"): "cluster-tests/test_two_namenodes.py",
    ("docs/hdfs.md", "[hdfs]"): "cluster-tests/test_hdfs_kerberos.py",
    ("docs/hdfs.md", "KRB5_CLIENT_KTNAME"): "cluster-tests/test_hdfs_kerberos.py",
    ("docs/library.md", "with hbtable.connect"): "tests/integration/test_connect.py",
    ("docs/manual/migration.md", "hbtable copy --from"): "compat-tests/test_copy.py",
    ("docs/manual/migration.md", "hbase org.apache.hadoop"): "tests/golden/make_hbase_exports.py",
    ("docs/manual/migration.md", "hbtable shadow --primary thrift://hbase-host"): "compat-tests/test_shadow.py",
    ("docs/manual/production.md", "useradd"): "needs root, and changes the machine",
    ("docs/manual/production.md", "# /etc/hbtable"): "is the file that the page's own run has in its folder",
    ("docs/manual/production.md", "# /etc/systemd"): "needs systemd, which containers have not",
    ("docs/manual/programs.md", "def test_a_page_is_kept"): "tests/integration/test_web_programs.py",
    ("docs/manual/tutorial.md", "python3 -m venv"): ".ci/bare-debian",
    ("docs/manual/tutorial.md", "hbtable start --data links"): "is run by docs/manual/faq.md, with another folder",
    ("docs/manual/tutorial.md", "db = hbtable.connect"): "is run by docs/manual/faq.md",
    ("docs/operations.md", "compat-tests/servers"): _ROLES,
    ("docs/operations.md", "hbtable start --data DIR -D tablet.set_back"): "tests/integration/test_check.py",
    ("docs/operations.md", "set_quota TYPE"): "tests/integration/test_shell.py",
    ("docs/operations.md", "hbtable thrift"): "cluster-tests/test_gateways.py",
    ("docs/security.md", "$ "): _SECURITY_PAGE,
    ("docs/security.md", "[tls]"): _SECURITY_PAGE,
    ("docs/security.md", "openssl req"): _SECURITY_PAGE,
    ("docs/security.md", "[auth]"): _SECURITY_PAGE,
    ("docs/security.md", "kinit ann"): _SECURITY_PAGE,
    ("docs/security.md", '{"at"'): "is a line of the audit log",
    ("docs/security.md", "hbtable cluster-key"): "cluster-tests/test_cluster_key.py",
    ("docs/security.md", "(umask 077"): "cluster-tests/test_zookeeper_access.py",
    ("docs/security.md", "curl --cacert"): _SECURITY_PAGE,
    ("docs/security.md", "- job_name"): "is of Prometheus' configuration",
    ("docs/speed.md", "git worktree"): _BY_HAND,
    ("docs/speed.md", "compat-tests/servers/real-hbase"): _BY_HAND,
    ("docs/speed.md", "make bench-scale"): _BY_HAND,
}
"""By page and beginning."""


def shown_blocks() -> Iterator[tuple[str, str]]:
    """(page, first line) of each block that test_documents.py does not run."""
    root = Path(ROOT)
    examples, pages = sorted((root / "examples").rglob("*.md")), sorted((root / "docs").rglob("*.md"))
    for page in [root / "README.md", root / "CONTRIBUTING.md", *examples, *pages]:
        if page.name in _COMPARED:
            continue
        name, text = str(page.relative_to(root)), page.read_text()
        for language, more, block in _FENCED.findall(text):
            from_top_to_end = page.parent == root / "docs" / "manual" or page.parent.parent == root / "examples"
            run = (from_top_to_end and (language in _RUN or "file=" in more)) or (
                page.name in ("library.md", "data.md") and language == "python"
            )
            if not run and not language.startswith("{"):
                yield name, block.strip().splitlines()[0]
        for block in _INDENTED.findall(_FENCED.sub("", text)):
            yield name, block.strip().splitlines()[0]


def test_each_block_is_run_or_it_is_said_why_not() -> None:
    unsaid = [
        f"{page}: {line}"
        for page, line in shown_blocks()
        if not any(page == other and line.startswith(begins) for other, begins in SHOWN)
    ]
    assert unsaid == [], "run it (tests/harness/document_blocks.py), or say here why it is not"


def test_nothing_is_said_of_blocks_that_are_gone() -> None:
    there = list(shown_blocks())
    assert [
        f"{page}: {begins}"
        for page, begins in SHOWN
        if not any(page == other and line.startswith(begins) for other, line in there)
    ] == []


def test_the_tests_that_are_named_are_there() -> None:
    named = {reason for reason in SHOWN.values() if " " not in reason}
    assert len(named) > 10
    assert [name for name in named if not Path(ROOT, name).exists()] == []

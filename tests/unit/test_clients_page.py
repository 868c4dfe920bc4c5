"""docs/clients.md has a table of which client can speak what. Each of its cells that says that a client can has a test
that does it, by name, and no other cell has one."""

import ast
import re
from pathlib import Path
from typing import Final

from tests.harness.commands import ROOT

_PAGE: Final = Path(ROOT, "docs", "clients.md")
_CANNOT: Final = {"", "no", "has none", "adds no header"}
_WAYS: Final = ("plain", "TLS", "SASL PLAIN", "SASL GSSAPI (Kerberos)", "HTTP, HTTPS")
_LANGUAGES, _EACH_WAY = "compat-tests/test_languages.py", "compat-tests/test_ways_in.py"
_KERBEROS, _SPNEGO = "compat-tests/test_kerberos.py", "compat-tests/test_spnego.py"
_USERS, _TLS = "tests/integration/test_users.py", "tests/integration/test_tls.py"
_OF_A_LIBRARY: Final = [
    f"{_LANGUAGES} test_language", f"{_LANGUAGES} test_language_over_tls", "", "",
    f"{_LANGUAGES} test_language_over_https_with_a_login",
]  # fmt: skip
_RECORDED: Final = f"{_EACH_WAY} test_recorded_answers_in_each_way"

DONE_BY: Final = {
    "happybase": [
        "compat-tests/test_happybase_suite.py test_happybase_own_suite",
        *[f"{_EACH_WAY} test_happybase_own_suite_in_each_way"] * 4,
    ],
    "thriftpy2": [
        "compat-tests/test_recorded_answers.py test_recorded_answers", *[_RECORDED] * 3,
        f"{_RECORDED}, {_SPNEGO} test_thriftpy2_makes_a_table_and_reads_it",
    ],
    "Apache Thrift's Python": [
        *_OF_A_LIBRARY[:2], f"{_LANGUAGES} test_language_with_a_login, {_USERS} test_happybase_with_sasl",
        f"{_KERBEROS} test_thrift_sasls_transport_takes_a_ticket", _OF_A_LIBRARY[4],
    ],
    "Apache Thrift's Java": [
        *_OF_A_LIBRARY[:2], f"{_LANGUAGES} test_language_with_a_login", f"{_LANGUAGES} test_java_with_kerberos",
        _OF_A_LIBRARY[4],
    ],
    "HBase's own Java client (`ThriftConnection`)": [
        _OF_A_LIBRARY[0], *[f"{_LANGUAGES} test_hbases_own_client_in_each_way"] * 2,
        f"{_LANGUAGES} test_java_with_kerberos", f"{_LANGUAGES} test_hbases_own_client_in_each_way",
    ],
    **dict.fromkeys([f"Apache Thrift's {name}" for name in ("Node", "Go", "PHP", "Ruby")], _OF_A_LIBRARY),
    "Apache Thrift's C++": [*_OF_A_LIBRARY[:2], "", "", ""],
    "curl": ["", "", "", "", f"{_SPNEGO} test_curl_comes_in_with_a_ticket_and_the_server_proves_itself"],
    "`hbtable shell` and all other commands": [
        "tests/integration/test_shell.py ", f"{_TLS} test_the_shell, {_TLS} test_who_has_a_certificate_comes_in",
        f"{_USERS} test_the_shell_and_its_one_shot_forms", "", "",
    ],
    "`hbtable.connect()`": [
        "tests/integration/test_connect.py ", f"{_USERS} test_the_library_logs_in",
        f"{_USERS} test_the_library_logs_in", "", "",
    ],
}  # fmt: skip
"""A client, and for each way the tests that go it: a file and a function of it."""


def table() -> dict[str, list[str]]:
    """The cells of each client, in the order of the ways."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in re.findall(r"^\|.*\|$", _PAGE.read_text(), re.MULTILINE)
    ]
    assert tuple(rows[0][1:]) == _WAYS
    return {name: cells for name, *cells in rows[2:]}


def test_each_cell_that_says_that_a_client_can_has_a_test_that_does_it() -> None:
    shown = table()
    del shown["`hbtable.open()`"]  # speaks to no port
    assert shown.keys() == DONE_BY.keys()
    for client, cells in shown.items():
        can = [cell not in _CANNOT for cell in cells]
        assert can == [bool(tests) for tests in DONE_BY[client]], client


def test_the_tests_are_there() -> None:
    named = {test for tests in DONE_BY.values() for each in tests if each for test in each.split(", ")}
    assert len(named) > 12
    for one in sorted(named):
        file, _, name = one.partition(" ")
        path = Path(ROOT, file)
        assert path.exists(), one
        functions = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
        assert name in functions or (not name and any(found.startswith("test_") for found in functions)), one

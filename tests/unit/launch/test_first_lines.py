"""The lines that the start prints are such that the configuration does not refuse."""

import ast
import textwrap
from typing import Any

import pytest

from hbtable.access.options import AuthOptions
from hbtable.launch.first_lines import connecting
from hbtable.runtime.network.tls import TlsOptions

FILES = {"certificate": "c.pem", "key": "k.pem"}
USER = {"user": "ann", "secret": "FILE OF THE PASSWORD"}
CA = {"tls": True, "ca": "FILE OF THE CA"}


@pytest.mark.parametrize(
    ("tls", "auth", "module", "given"),
    [
        ({}, {}, "happybase", {}),
        (FILES, {}, "happybase", {}),
        (FILES | {"required": True}, {}, "hbtable", CA),
        (FILES, {"enabled": True, "superusers": "ann"}, "hbtable", CA | USER),
        (FILES, {"enabled": True, "superusers": "@a", "groups": "a = ann"}, "hbtable", CA | USER),
        (FILES, {"enabled": True, "superusers": "ann", "plain_text": True}, "hbtable", USER),
        ({}, {"enabled": True, "plain_text": True}, "hbtable", USER | {"user": "USER"}),
        (
            FILES | {"required": True, "client_ca": "ca.pem"},
            {"enabled": True},
            "hbtable",
            CA | {"certificate": "FILE WITH YOUR CERTIFICATE AND KEY"},
        ),
    ],
)
def test_they_say_who_it_is_where_that_is_asked(
    tls: dict[str, Any], auth: dict[str, Any], module: str, given: dict[str, Any]
) -> None:
    lines = connecting("127.0.0.1", 9090, TlsOptions(**tls), AuthOptions(**auth))
    imported, assigned = ast.parse(textwrap.dedent(lines)).body
    assert isinstance(imported, ast.Import)
    assert imported.names[0].name == module
    assert isinstance(assigned, ast.Assign)
    assert isinstance(assigned.value, ast.Call)
    assert {one.arg: ast.literal_eval(one.value) for one in assigned.value.keywords} == given
    assert [ast.literal_eval(one) for one in assigned.value.args] == ["127.0.0.1", 9090]

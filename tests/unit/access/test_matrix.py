"""The access control of a real HBase (compat-tests/access, 16,999 recorded lines), read as data: what the checks of
reads and writes say of each, with HBase's message. What differs stands in CLOSED, by rule."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hbtable.access.actions import EVERY_ACTION, actions_of
from hbtable.access.data_checks import DataChecks
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.permissions import Permissions
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.access.user import User
from hbtable.errors import AccessDenied
from hbtable.model.additions import APPEND, INCREMENT, added_to
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, PUT, Operation, RowMutation
from hbtable.model.read import columns_of

FOLDER = Path(__file__).parents[3] / "compat-tests" / "access"
CELLS = [("f", "a"), ("f", "b"), ("g", "a")]
DELETES = {"columns": DELETE_COLUMN, "column": DELETE_COLUMN, "family": DELETE_FAMILY}
DELETES["family_version"] = DELETE_FAMILY_VERSION
TABLES = (b"NS:t", b"NS:w", b"NS:d")
ELSEWHERE = {"another table": of_table(b"NS:w2"), "another namespace": Scope(b"NSe")}
ELSEWHERE |= {"global": GLOBAL, "namespace": Scope(b"NS"), "namespace default": Scope(b"default")}
NEEDS_READ_TOO = "what gives the new value back, or answers a condition, needs READ as well"
SAME_ANSWER_EITHER_WAY = "what would be written needs WRITE whether or not the condition holds"
CLOSED: dict[str, str] = {
    **{f"{what} {columns}": NEEDS_READ_TOO for what in ("increment", "append") for columns in (
        "f:a", "f:b", "g:a", "f:a, f:b", "f:a, g:a", "f:a, no result", "f:a, new row"
    )},
    "checkAndMutate if f:a matches, [put f:a, delete f:b]": NEEDS_READ_TOO,
    "checkAndMutate if f:a matches, increment f:b": NEEDS_READ_TOO,
    "checkAndMutate if f:a matches, append f:b": NEEDS_READ_TOO,
    "mutateRow [put f:b, increment f:a]": NEEDS_READ_TOO,
    "checkAndPut if f:a matches not, put f:a": SAME_ANSWER_EITHER_WAY,
    "checkAndPut if g:a matches not, put f:a": SAME_ANSWER_EITHER_WAY,
}  # fmt: skip
"""Operations that HBase allows with less: an answer there may be a refusal here, never the other way round."""


def lines(*kinds: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(the call, what was recorded) of calls of these kinds on tables that are there."""
    calls = {one["op"]: one["call"] for one in load("operations.jsonl")}
    for line in load("matrix.jsonl"):
        call = calls[line["op"]]
        if call["do"] in kinds and call["table"].encode() in TABLES and line["result"] != "error":
            yield call, line


@cache
def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def checks_for(line: dict[str, Any]) -> DataChecks:
    holder = line.get("holder", "user")
    in_group = holder == "group" or "(group)" in line["permission"]
    groups = {"team"} if in_group else {"supers"} if holder == "user of a superuser group" else set()
    name = {"superuser": "admin", "user that runs the servers": "root"}.get(holder, "USER")
    permissions = Permissions(("admin", "root", "@supers"), grants_of(line["scope"], line["permission"], holder))
    user = User(name, frozenset(groups))
    return DataChecks(lambda: permissions, lambda: user)


@cache
def grants_of(scope: str, permission: str, holder: str) -> Grants:
    grants = NO_GRANTS
    if holder == "creator of the tables":
        for table in TABLES:
            grants = grants.with_grant("USER", of_table(table), EVERY_ACTION)
    for where, what in zip(scope.split(" + "), permission.split(" + "), strict=True):
        if not what:
            continue
        letters, _, who = what.partition(" ")
        to = "@team" if holder == "group" or who == "(group)" else "USER"
        for place in scopes(where):
            grants = grants.with_grant(to, place, actions_of(letters))
    return grants


def scopes(where: str) -> list[Scope]:
    if where in ELSEWHERE:
        return [ELSEWHERE[where]]
    family, _, qualifier = where.removeprefix("family ").partition(":")
    if where == "table":
        return [of_table(table) for table in TABLES]
    return [of_table(table, family.encode(), qualifier.encode() if qualifier else None) for table in TABLES]


def mutation(what: dict[str, Any]) -> RowMutation:
    operations: list[Operation] = []
    put = {"increment": INCREMENT, "append": APPEND}.get(what.get("kind", ""), PUT)
    for column in what.get("cells", ()):
        family, _, qualifier = column.encode().partition(b":")
        operations.append((put, family, qualifier, 1, b""))
    for kind, *column in what.get("kinds", ()):
        if kind == "row":
            operations += [(DELETE_FAMILY, family, b"", 1, b"") for family in (b"f", b"g")]
            continue
        family, _, qualifier = column[0].encode().partition(b":")
        operations.append((DELETES[kind], family, qualifier, 1, b""))
    for inner in what.get("mutations", ()):
        operations += mutation(inner).operations
    return RowMutation(b"r", operations)


def ask(checks: DataChecks, call: dict[str, Any]) -> None:
    """AccessDenied as the checks say."""
    table = call["table"].encode()
    columns = [tuple(name.encode().split(b":")) for name in call.get("cells", ())]
    match call["do"]:
        case "get" if call.get("exists_only"):
            checks.check_all_readable(table, columns_of(name.encode() for name in call.get("columns", ())))
        case "get" | "scan":
            checks.readable(table, columns_of(name.encode() for name in call.get("columns", ())))
        case "mutate_row" if added_to(mutation(call)):
            checks.check_predicate(table, {}, mutation(call))
        case "put" | "delete" | "mutate_row":
            checks.check_mutations(table, [mutation(call)])
        case "increment" | "append":
            checks.check_read_and_written(table, columns)
        case "check_and_mutate":
            family, _, qualifier = call["check"]["column"].encode().partition(b":")
            checks.check_condition(table, family, qualifier, mutation(call["then"]))


@pytest.mark.parametrize(
    "kinds", [("get",), ("scan",), ("put", "delete", "mutate_row"), ("increment", "append"), ("check_and_mutate",)]
)
def test_each_holder_may_do_what_hbase_lets_him_do(kinds: tuple[str, ...]) -> None:
    seen: Counter[str] = Counter()
    for call, line in lines(*kinds):
        if "filter" in call.get("check", ()):
            continue  # HBase's native calls alone have such conditions
        expected = line["result"] == "refused"
        refusal = ""
        try:
            ask(checks_for(line), call)
        except AccessDenied as error:
            refusal = str(error)
        if line["op"] in CLOSED and not expected and refusal:
            seen["closed"] += 1
            assert ("action=READ" in refusal) == (CLOSED[line["op"]] == NEEDS_READ_TOO), line
            continue
        assert bool(refusal) == expected, (line, refusal)
        if refusal and line["op"] not in CLOSED:
            assert refusal == line["message"], line
        seen["refused" if refusal else line["result"]] += 1
    assert seen["refused"] > 100
    assert seen["allowed"] > 100


def test_what_is_left_of_a_narrowed_get_and_scan() -> None:
    """Of the rows as they lie in the recorded table, without filters."""
    rows = {"r1": CELLS, "r2": CELLS, "r3": [("g", "a")], "r4": [("f", "b")]}
    seen: Counter[str] = Counter()
    for call, line in lines("get", "scan"):
        if line["result"] not in ("allowed", "filtered") or "cells" not in line or is_special(call):
            continue
        columns = checks_for(line).readable(b"NS:t", columns_of(name.encode() for name in call.get("columns", ())))
        wanted = [call["row"]] if call["do"] == "get" else sorted(rows)
        found = [
            f"{row} {family}:{qualifier}"
            for row in wanted
            for family, qualifier in rows.get(row, ())
            if columns is None or in_columns(columns.get(family.encode(), ()), qualifier.encode())
        ]
        assert found == [cell.partition("=")[0] for cell in line["cells"]], line
        seen[line["result"]] += 1
    assert seen["filtered"] > 50


def is_special(call: dict[str, Any]) -> bool:
    """More than rows and columns is asked for."""
    return bool(call.keys() - {"do", "table", "row", "columns"})


def in_columns(qualifiers: Any, qualifier: bytes) -> bool:
    return qualifiers is None or qualifier in qualifiers

"""The calls of compat-tests/access by hbtable's own library: hbtable.connect()'s database, over a user's clients."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import hbtable
from hbtable import errors
from hbtable.launch.connected import ConnectedDatabase, connect_database
from hbtable.library.server_admin import ServerAdmin
from hbtable.library.server_calls import ServerCalls
from hbtable.shell.connection import ShellConnection
from tests.harness.access_adapter import Clients, Session, shown_cell, stored
from tests.harness.guarded_gateway import interface

_SECURITY = {"tls": False, "ca": "", "certificate": "", "user": "", "secret": "", "plain_text": False}
_ADDING = ("increment", "append")
_CHOICES = {"compat": "0.98", "transport": "buffered", "protocol": "binary"}
_IN_HBASE = {
    errors.AccessDenied: "AccessDeniedException",
    errors.AlreadyExists: "NamespaceExistException",
    errors.InvalidRequest: "ConstraintException",
    errors.NamespaceNotFound: "NamespaceNotFoundException",
    errors.NoSuchFamily: "NoSuchColumnFamilyException",
    errors.SpaceLimitReached: "SpaceLimitingException",
    errors.TableExists: "TableExistsException",
    errors.TableNotDisabled: "TableNotDisabledException",
    errors.TableNotEnabled: "TableNotEnabledException",
    errors.TableNotFound: "TableNotFoundException",
    errors.Throttled: "RpcThrottlingException",
}


def connection_over(clients: Clients) -> ShellConnection:
    """As if it were open, to wherever these clients lead."""
    made = ShellConnection("127.0.0.1:1")
    named = {"thrift1": ("IOError", "IllegalArgument", "AlreadyExists"), "admin": ("IOError", "IllegalArgument")}
    made._admin_structs, made._hbase_structs = interface("admin"), interface("thrift1")
    made._exceptions = tuple(getattr(interface(service), name) for service, names in named.items() for name in names)
    made._clients = {"hbase": clients.thrift1, "admin": clients.admin}
    return made


def database_over(clients: Clients) -> ConnectedDatabase:
    """hbtable.connect() to wherever these clients lead."""
    made = connect_database(None, None, None, False, None, "_", _CHOICES, _SECURITY)
    made.calls = ServerCalls(connection_over(clients), threading.Lock())
    made._admin = ServerAdmin(made.calls)
    return made


class LibrarySession(Session):
    """What the library has no call for is left out."""

    def __init__(self, clients: Clients, user: str, groups: Sequence[str], refused: type[Exception]) -> None:
        super().__init__(clients, user, groups, refused)
        self.database = database_over(clients)
        self._scans: dict[str, Iterator[Any]] = {}

    def do(self, call: dict[str, Any]) -> Any:
        if f"do_{call['do']}" not in vars(LibrarySession) and call["do"] not in ("grant", "revoke", "gets"):
            raise NotImplementedError(call["do"])
        return super().do(call)

    def _translated(self, error: Exception) -> Exception:
        for kind, name in _IN_HBASE.items():
            if type(error) is kind:
                return self._refused(name, str(error))
        return super()._translated(error)

    def _table(self, call: dict[str, Any]) -> Any:
        if call["table"].startswith("hbase:"):
            raise NotImplementedError(call["table"])
        return self.database.table(call["table"])

    # ---------------------------------------------------------------- cells

    def do_get(self, call: dict[str, Any]) -> list[str]:
        if call.keys() & {"filter", "exists_only"}:
            raise NotImplementedError("rows are read without filters, and not asked for their existence")
        versions = call.get("versions")
        found = self._table(call).row(call["row"], call.get("columns"), versions=versions)
        return _cells(call["row"].encode(), found)

    def do_gets(self, call: dict[str, Any]) -> Any:
        """Each item by itself but the mutations, which are one batch."""
        answers: list[Any] = [[] for _ in call["items"]]
        mutations = [one for one in call["items"] if one.get("kind", "get") != "get"]
        failed = self._attempt(lambda: self._batch(call["table"], mutations)) if mutations else []
        for place, one in enumerate(call["items"]):
            if one.get("kind", "get") == "get":
                answers[place] = self._attempt(lambda one=one: self.do_get({**one, "table": call["table"]}))
            else:
                answers[place] = failed or []
        return answers

    def _attempt(self, call: Any) -> Any:
        try:
            return call()
        except errors.HbtableError as error:
            return self._translated(error)

    def _batch(self, table: str, mutations: Sequence[dict[str, Any]]) -> None:
        with self.database.table(table).batch() as batch:
            for one in mutations:
                if one["kind"] != "put" or "ts" in one:
                    raise NotImplementedError("the times of a batch are alike")
                batch.put(one["row"], _values(one))

    def do_scan(self, call: dict[str, Any]) -> Any:
        if "raw" in call:
            raise NotImplementedError("scans are not raw")
        given = {name: call[name] for name in ("columns", "filter", "limit", "versions") if name in call}
        if call.get("batch"):
            given["scan_batching"] = call["batch"]
        found = self._table(call).scan(
            call.get("start"), call.get("stop"), batch_size=call.get("caching") or 1000,
            reverse=bool(call.get("reversed")), **given,
        )  # fmt: skip
        rows = list(found)
        if call.get("rows"):
            return [row.decode() for row, _ in rows]
        pieces = [_cells(row, data) for row, data in rows]
        return pieces if call.get("batch") else [cell for piece in pieces for cell in piece]

    def do_scanner_open(self, call: dict[str, Any]) -> str:
        self._scans[call["id"]] = self._table(call).scan(batch_size=1)
        return "open"

    def do_scanner_next(self, call: dict[str, Any]) -> Any:
        for row, data in self._scans[call["id"]]:
            return _cells(row, data)
        return []

    def do_put(self, call: dict[str, Any]) -> None:
        if "acl" in call:
            raise NotImplementedError("permissions of cells")
        self._table(call).put(call["row"], _values(call), call.get("ts"))

    def do_delete(self, call: dict[str, Any]) -> None:
        kinds = [kind for kind, *_ in call["kinds"]]
        if any(len(one) > 2 for one in call["kinds"]) or not set(kinds) <= {"row", "columns", "family"}:
            raise NotImplementedError("one version is deleted by mutate_row")
        columns = None if kinds == ["row"] else [one[1] for one in call["kinds"]]
        self._table(call).delete(call["row"], columns)

    def do_increment(self, call: dict[str, Any]) -> list[str]:
        if len(call["cells"]) > 1 or call.get("no_result"):
            raise NotImplementedError("a counter at a time, which is given back")
        ((column, amount),) = call["cells"].items()
        found = self._table(call).counter_inc(call["row"], column, amount)
        return [f"{call['row']} {column}=#{found}"]

    def do_append(self, call: dict[str, Any]) -> list[str]:
        if call.get("no_result"):
            raise NotImplementedError("what was appended to is given back")
        return _cells(call["row"].encode(), self._table(call).append(call["row"], call["cells"]))

    def do_check_and_mutate(self, call: dict[str, Any]) -> bool:
        check, then = call["check"], call["then"]
        if "column" not in check:
            raise NotImplementedError("conditions are about a column")
        expected = None if check.get("absent") else check["value"]
        if then["kind"] == "put" and len(then["cells"]) == 1:
            return self._table(call).check_and_put(call["row"], check["column"], expected, _values(then))
        changes = self._changes(then.get("mutations", [then]))
        return self._table(call).check_and_mutate(call["row"], check["column"], "=", expected, changes)

    def do_mutate_row(self, call: dict[str, Any]) -> list[str]:
        self._table(call).mutate_row(call["row"], self._changes(call["mutations"]))
        added_to = [column for one in call["mutations"] if one["kind"] in _ADDING for column in one["cells"]]
        if not added_to:
            return []
        return _cells(call["row"].encode(), self._table(call).row(call["row"], added_to))  # HBase gives them back

    def _changes(self, parts: Sequence[dict[str, Any]]) -> hbtable.RowChanges:
        changes = hbtable.RowChanges()
        for part in parts:
            if part["kind"] == "put":
                changes.put(_values(part), part.get("ts"))
                continue
            if part["kind"] == "increment":
                for column, amount in part["cells"].items():
                    changes.increment(column, amount)
                continue
            if part["kind"] == "append":
                changes.append(part["cells"])
                continue
            if part["kind"] != "delete":
                raise NotImplementedError(f"{part['kind']} in a row mutation")
            for kind, *named in part["kinds"]:
                if kind not in ("row", "columns", "family") or len(named) > 1:
                    raise NotImplementedError(kind)
                changes.delete(named or None)
        return changes

    # ---------------------------------------------------------------- tables and namespaces

    def do_table_exists(self, call: dict[str, Any]) -> bool:
        return self.database.table_exists(call["table"])

    def do_is_enabled(self, call: dict[str, Any]) -> bool:
        return self.database.is_table_enabled(call["table"])

    def do_regions(self, call: dict[str, Any]) -> int:
        return len(self._table(call).regions())

    def do_list_tables(self, call: dict[str, Any]) -> list[str]:
        if call.get("pattern"):
            raise NotImplementedError("tables() lists all")
        return [name.decode() for name in self.database.tables()]

    def do_create_table(self, call: dict[str, Any]) -> None:
        self.database.create_table(call["table"], call["families"], call.get("splits", ()))

    def do_delete_table(self, call: dict[str, Any]) -> None:
        self.database.delete_table(call["table"])

    def do_truncate(self, call: dict[str, Any]) -> None:
        self.database.truncate_table(call["table"], bool(call.get("preserve")))

    def do_enable(self, call: dict[str, Any]) -> None:
        self.database.enable_table(call["table"])

    def do_disable(self, call: dict[str, Any]) -> None:
        self.database.disable_table(call["table"])

    def do_flush(self, call: dict[str, Any]) -> None:
        self.database.flush_table(call["table"])

    def do_compact(self, call: dict[str, Any]) -> None:
        self.database.compact_table(call["table"])

    def do_major_compact(self, call: dict[str, Any]) -> None:
        self.database.compact_table(call["table"], major=True)

    def do_split(self, call: dict[str, Any]) -> None:
        self.database.split_table(call["table"], call["at"])

    def do_merge(self, call: dict[str, Any]) -> None:
        self.database.merge_table(call["table"])

    def do_add_family(self, call: dict[str, Any]) -> None:
        self.database.alter_table(call["table"], add=[call["family"]])

    def do_modify_family(self, call: dict[str, Any]) -> None:
        change = {call["family"]: {"max_versions": call.get("versions", 5)}}
        self.database.alter_table(call["table"], change=change)

    def do_delete_family(self, call: dict[str, Any]) -> None:
        self.database.alter_table(call["table"], drop=[call["family"]])

    def do_list_namespaces(self, _: dict[str, Any]) -> list[str]:
        return [name.decode() for name in self.database.namespaces()]

    def do_get_namespace(self, call: dict[str, Any]) -> str:
        self.database.namespace(call["namespace"])
        return str(call["namespace"])

    def do_create_namespace(self, call: dict[str, Any]) -> None:
        self.database.create_namespace(call["namespace"])

    def do_modify_namespace(self, call: dict[str, Any]) -> None:
        self.database.alter_namespace(call["namespace"], {"a": "b"})

    def do_delete_namespace(self, call: dict[str, Any]) -> None:
        self.database.delete_namespace(call["namespace"])


def _values(call: dict[str, Any]) -> dict[str, bytes]:
    return {column: stored(value) for column, value in call["cells"].items()}


def _cells(row: bytes, data: dict[bytes, Any]) -> list[str]:
    """As check_matrix.py writes them."""
    found = []
    for column, values in data.items():
        for value in values if isinstance(values, list) else [values]:
            found.append(f"{row.decode()} {column.decode()}={shown_cell(value)}")
    return found

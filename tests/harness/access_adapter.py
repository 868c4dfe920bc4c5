"""The calls of compat-tests/access on hbtable: the Adapter that check_matrix.py asks for, over Thrift1, Thrift2 and the
admin service. `connect` makes clients; what hbtable has no call for is NotImplementedError."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from hbtable.hbase.thrift2.conversion import PUT_TYPE
from tests.harness.guarded_gateway import interface

_FAMILY, _COLUMN, _COLUMNS, _FAMILY_VERSION = 2, 0, 1, 3
_DELETES = {"columns": _COLUMNS, "column": _COLUMN, "family": _FAMILY, "family_version": _FAMILY_VERSION}
_PREPARED = ("snapshot",)
"""By check_matrix.py for each holder, for calls that hbtable does not have."""
_JAVA = re.compile(r"^(?:[a-z0-9]+\.)+(\w+): (.*)", re.DOTALL)
_ADVICE = "; the quota of "
"""Begins what stands behind HBase's sentence, which is all that was recorded."""


class Clients(Protocol):
    """Thrift's clients of one user."""

    thrift1: Any
    thrift2: Any
    admin: Any


class Session:
    """What one user does. `refused` is check_matrix.Refused."""

    def __init__(self, clients: Clients, user: str, groups: Sequence[str], refused: type[Exception]) -> None:
        self._clients = clients
        self._user = user
        self._groups = groups
        self._refused = refused
        self._scanners: dict[str, int] = {}

    def do(self, call: dict[str, Any]) -> Any:
        method: Callable[[dict[str, Any]], Any] | None = getattr(
            self, "do_" + call["do"].replace("switch", "toggle"), None
        )
        if method is None and self._user == Adapter.SUPERUSER and call["do"] in _PREPARED:
            return None
        if method is None:
            raise NotImplementedError(call["do"])
        try:
            return method(call)
        except Exception as error:
            raise self._translated(error) from None

    def _translated(self, error: Exception) -> Exception:
        text = getattr(error, "message", None)
        if text is None:
            return error
        text = text.decode() if isinstance(text, bytes) else text
        text = text.partition(_ADVICE)[0]
        found = _JAVA.match(text)
        if found is None:
            return self._refused(type(error).__name__, text)
        if "table does not exist" in text:  # Thrift1's word
            return self._refused("TableNotFoundException", text)
        return self._refused(found[1], found[2])

    # ---------------------------------------------------------------- cells

    def do_get(self, call: dict[str, Any]) -> Any:
        get = self._get(call)
        table = call["table"].encode()
        if call.get("exists_only"):
            return self._clients.thrift2.exists(table, get)
        return _cells(self._clients.thrift2.get(table, get))

    def _get(self, call: dict[str, Any]) -> Any:
        two = interface("thrift2")
        return two.TGet(
            row=call["row"].encode(),
            columns=_columns(call),
            maxVersions=call.get("versions"),
            filterString=call["filter"].encode() if "filter" in call else None,
        )

    def do_gets(self, call: dict[str, Any]) -> Any:
        """Gets one by one, as HBase judges them; the mutations together."""
        answers: list[Any] = [[] for _ in call["items"]]
        mutations = [one for one in call["items"] if one.get("kind", "get") != "get"]
        failed: Any = None
        if mutations:
            try:
                self._batch(call["table"], mutations)
            except Exception as error:
                failed = self._translated(error)
                if not isinstance(failed, self._refused):
                    raise
        for place, one in enumerate(call["items"]):
            if one.get("kind", "get") != "get":
                if failed is not None:
                    answers[place] = failed
                continue
            try:
                answers[place] = _cells(self._clients.thrift2.get(call["table"].encode(), self._get(one)))
            except Exception as error:
                answers[place] = self._translated(error)
                if not isinstance(answers[place], self._refused):
                    raise
        return answers

    def _batch(self, table: str, mutations: Sequence[dict[str, Any]]) -> None:
        self._clients.thrift2.putMultiple(table.encode(), [self._put(one) for one in mutations])

    def do_scan(self, call: dict[str, Any]) -> Any:
        two, client = interface("thrift2"), self._clients.thrift2
        if call["table"].startswith("hbase:"):
            raise NotImplementedError(call["table"])
        if call.get("raw"):
            raise NotImplementedError("raw scans are checked as others, and answered in another form")
        scan = two.TScan(
            startRow=call.get("start", "").encode(),
            stopRow=call.get("stop", "").encode(),
            columns=_columns(call),
            caching=call.get("caching"),
            maxVersions=call.get("versions", 1),
            filterString=call["filter"].encode() if "filter" in call else None,
            batchSize=call.get("batch"),
            reversed=call.get("reversed"),
            limit=call.get("limit"),
        )
        number = client.openScanner(call["table"].encode(), scan)
        found: list[Any] = []
        while rows := client.getScannerRows(number, 100):
            found += rows
        client.closeScanner(number)
        if call.get("rows"):
            return [one.row.decode() for one in found]
        if call.get("batch"):
            return [_cells(one) for one in found]
        return [cell for one in found for cell in _cells(one)]

    def do_put(self, call: dict[str, Any]) -> None:
        if call["table"].startswith("hbase:"):
            raise NotImplementedError(call["table"])
        if "acl" in call:
            raise NotImplementedError("permissions of cells")
        self._clients.thrift2.put(call["table"].encode(), self._put(call))

    def _put(self, call: dict[str, Any], row: str = "") -> Any:
        two = interface("thrift2")
        values = [two.TColumnValue(*_split(column), stored(value)) for column, value in call["cells"].items()]
        return two.TPut(row=(row or call["row"]).encode(), columnValues=values, timestamp=call.get("ts"))

    def do_delete(self, call: dict[str, Any]) -> None:
        row = call["row"].encode()
        for kind, *_ in call["kinds"]:
            if kind == "row":
                self._clients.thrift1.deleteAllRow(call["table"].encode(), row, {})
                return
        self._clients.thrift2.deleteSingle(call["table"].encode(), self._delete(call["kinds"], call["row"]))

    def _delete(self, kinds: Sequence[Sequence[Any]], row: str) -> Any:
        two = interface("thrift2")
        columns = [two.TColumn(*_split(name), *time) for _, name, *time in kinds]
        return two.TDelete(row=row.encode(), columns=columns, deleteType=_DELETES[kinds[0][0]])

    def do_increment(self, call: dict[str, Any]) -> Any:
        two = interface("thrift2")
        columns = [two.TColumnIncrement(*_split(column), amount) for column, amount in call["cells"].items()]
        increment = two.TIncrement(
            row=call["row"].encode(), columns=columns, returnResults=False if call.get("no_result") else None
        )
        return _cells(self._clients.thrift2.increment(call["table"].encode(), increment), call["row"])

    def do_append(self, call: dict[str, Any]) -> Any:
        two = interface("thrift2")
        columns = [two.TColumnValue(*_split(column), value.encode()) for column, value in call["cells"].items()]
        append = two.TAppend(
            row=call["row"].encode(), columns=columns, returnResults=False if call.get("no_result") else None
        )
        return _cells(self._clients.thrift2.append(call["table"].encode(), append), call["row"])

    def do_check_and_mutate(self, call: dict[str, Any]) -> bool:
        check, then = call["check"], call["then"]
        if "filter" in check or then["kind"] in ("increment", "append"):
            raise NotImplementedError("conditions by filter, and counters under a condition")
        mutations = self._mutations(then.get("mutations", [then]), call["row"])
        return self._clients.thrift2.checkAndMutate(
            call["table"].encode(),
            call["row"].encode(),
            *_split(check["column"]),
            2,
            None if check.get("absent") else check["value"].encode(),
            mutations,
        )

    def do_mutate_row(self, call: dict[str, Any]) -> list[str]:
        self._clients.thrift2.mutateRow(call["table"].encode(), self._mutations(call["mutations"], call["row"]))
        return []

    def _mutations(self, parts: Sequence[dict[str, Any]], row: str) -> Any:
        two, made = interface("thrift2"), []
        for part in parts:
            if part["kind"] == "put":
                made.append(two.TMutation(put=self._put(part, row)))
            elif part["kind"] == "delete":
                made.append(two.TMutation(deleteSingle=self._delete(part["kinds"], row)))
            else:
                raise NotImplementedError(f"{part['kind']} in a row mutation")
        return two.TRowMutations(row=row.encode(), mutations=made)

    def do_scanner_open(self, call: dict[str, Any]) -> str:
        two, client = interface("thrift2"), self._clients.thrift2
        self._scanners[call["id"]] = client.openScanner(call["table"].encode(), two.TScan(caching=call["caching"]))
        return "open"

    def do_scanner_next(self, call: dict[str, Any]) -> Any:
        rows = self._clients.thrift2.getScannerRows(self._scanners[call["id"]], 1)
        return [cell for one in rows for cell in _cells(one)]

    # ---------------------------------------------------------------- tables

    def do_table_exists(self, call: dict[str, Any]) -> bool:
        return self._clients.thrift2.tableExists(_name(call["table"]))

    def do_is_enabled(self, call: dict[str, Any]) -> bool:
        return self._clients.thrift2.isTableEnabled(_name(call["table"]))

    def do_is_disabled(self, call: dict[str, Any]) -> bool:
        return self._clients.thrift2.isTableDisabled(_name(call["table"]))

    def do_is_available(self, call: dict[str, Any]) -> bool:
        return self._clients.thrift2.isTableAvailable(_name(call["table"]))

    def do_regions(self, call: dict[str, Any]) -> int:
        return len(self._clients.thrift1.getTableRegions(call["table"].encode()))

    def do_locate(self, call: dict[str, Any]) -> str:
        self._clients.thrift2.getRegionLocation(call["table"].encode(), call["row"].encode(), False)
        raise NotImplementedError("allowed, and answered in another form")

    def do_describe(self, call: dict[str, Any]) -> list[str]:
        found = self._clients.thrift2.getTableDescriptor(_name(call["table"]))
        return [family.name.decode() for family in found.columns]

    def do_list_tables(self, call: dict[str, Any]) -> list[str]:
        return _shown(self._clients.thrift2.getTableNamesByPattern(call.get("pattern"), True))

    def do_list_descriptors(self, call: dict[str, Any]) -> list[str]:
        found = self._clients.thrift2.getTableDescriptorsByPattern(call.get("pattern"), True)
        return _shown([one.tableName for one in found])

    def do_list_descriptors_named(self, call: dict[str, Any]) -> list[str]:
        found = self._clients.thrift2.getTableDescriptors([_name(name) for name in call["tables"]])
        return _shown([one.tableName for one in found])

    def do_list_tables_of_namespace(self, call: dict[str, Any]) -> list[str]:
        return _shown(self._clients.thrift2.getTableNamesByNamespace(call["namespace"]))

    def do_list_descriptors_of_namespace(self, call: dict[str, Any]) -> list[str]:
        found = self._clients.thrift2.getTableDescriptorsByNamespace(call["namespace"])
        return _shown([one.tableName for one in found])

    def do_list_namespaces(self, _: dict[str, Any]) -> list[str]:
        return self._clients.thrift2.listNamespaces()

    def do_list_namespace_descriptors(self, _: dict[str, Any]) -> list[str]:
        return [one.name for one in self._clients.thrift2.listNamespaceDescriptors()]

    def do_get_namespace(self, call: dict[str, Any]) -> str:
        return self._clients.thrift2.getNamespaceDescriptor(call["namespace"]).name

    def do_create_table(self, call: dict[str, Any]) -> None:
        self._clients.thrift2.createTable(
            _table(call["table"], call["families"]), [row.encode() for row in call.get("splits", ())]
        )

    def do_clone_schema(self, call: dict[str, Any]) -> None:
        found = self._clients.thrift2.getTableDescriptor(_name(call["table"]))
        found.tableName = _name(call["to"])
        self._clients.thrift2.createTable(found, [])

    def do_delete_table(self, call: dict[str, Any]) -> None:
        self._clients.thrift2.deleteTable(_name(call["table"]))

    def do_truncate(self, call: dict[str, Any]) -> None:
        self._clients.thrift2.truncateTable(_name(call["table"]), bool(call.get("preserve")))

    def do_enable(self, call: dict[str, Any]) -> None:
        self._clients.thrift2.enableTable(_name(call["table"]))

    def do_disable(self, call: dict[str, Any]) -> None:
        self._clients.thrift2.disableTable(_name(call["table"]))

    def do_add_family(self, call: dict[str, Any]) -> None:
        family = interface("thrift2").TColumnFamilyDescriptor(name=call["family"].encode())
        self._clients.thrift2.addColumnFamily(_name(call["table"]), family)

    def do_modify_family(self, call: dict[str, Any]) -> None:
        two = interface("thrift2")
        family = two.TColumnFamilyDescriptor(name=call["family"].encode(), maxVersions=call.get("versions", 5))
        self._clients.thrift2.modifyColumnFamily(_name(call["table"]), family)

    def do_delete_family(self, call: dict[str, Any]) -> None:
        self._clients.thrift2.deleteColumnFamily(_name(call["table"]), call["family"].encode())

    def do_modify_table(self, call: dict[str, Any]) -> None:
        found = _table(call["table"], ["f", "g"])
        found.attributes = {b"A": b"b"}
        self._clients.thrift2.modifyTable(found)

    # ---------------------------------------------------------------- namespaces

    def do_create_namespace(self, call: dict[str, Any]) -> None:
        self._clients.thrift2.createNamespace(interface("thrift2").TNamespaceDescriptor(name=call["namespace"]))

    def do_modify_namespace(self, call: dict[str, Any]) -> None:
        descriptor = interface("thrift2").TNamespaceDescriptor(name=call["namespace"], configuration={"a": "b"})
        self._clients.thrift2.modifyNamespace(descriptor)

    def do_delete_namespace(self, call: dict[str, Any]) -> None:
        self._clients.thrift2.deleteNamespace(call["namespace"])

    # ---------------------------------------------------------------- operators' calls

    def do_flush(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminFlush(call["table"].encode(), 0)

    def do_compact(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminCompact(call["table"].encode(), False, 0, b"")

    def do_major_compact(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminCompact(call["table"].encode(), True, 0, b"")

    def do_compaction_state(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminCompactionState(call["table"].encode())

    def do_clear_block_cache(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminClearBlockCache(call["table"].encode())

    def do_move_away(self, call: dict[str, Any]) -> str:
        tablets = self._clients.admin.adminTablets(call["table"].encode())
        self._clients.admin.adminMove(call["table"].encode(), tablets[0].tabletId, b"")
        return "moved"

    def do_split(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminSplit(call["table"].encode(), call["at"].encode(), 0)

    def do_merge(self, call: dict[str, Any]) -> None:
        tablets = self._clients.admin.adminTablets(call["table"].encode())
        self._clients.admin.adminMerge(call["table"].encode(), [one.tabletId for one in tablets])

    def do_balance(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminBalance()

    def do_balancer_toggle(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminBalanceSwitch(True)

    def do_balancer_enabled(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminBalancerEnabled()

    def do_balancer_off(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminBalanceSwitch(False)

    def do_set_throttle(self, call: dict[str, Any]) -> None:
        seconds = {"HOURS": 3600}.get(call.get("unit", ""), 1)
        self._throttle(call, "REQUEST_NUMBER", call.get("limit", 1_000_000), seconds)

    do_set_table_throttle = do_set_namespace_throttle = do_set_user_throttle = do_set_throttle

    def do_set_region_server_throttle(self, _: dict[str, Any]) -> None:
        self._clients.admin.adminSetThrottle("", b"", b"", True, "REQUEST_NUMBER", 1_000_000, 1, False)

    def do_remove_quotas(self, call: dict[str, Any]) -> None:
        given = {word: call[word] for word in ("table", "namespace", "user") if word in call}
        user = {word: name for word, name in given.items() if word == "user"}
        for where in [
            *({word: name} for word, name in given.items()),
            *({**user, word: given[word]} for word in given),
        ]:
            self._throttle(where, "", 0, 1)

    def _throttle(self, call: dict[str, Any], kind: str, limit: int, seconds: int) -> None:
        named = call.get("user", ""), call.get("namespace", "").encode(), call.get("table", "").encode()
        self._clients.admin.adminSetThrottle(*named, False, kind, limit, seconds, False)

    def do_set_space_quota(self, call: dict[str, Any]) -> None:
        named = call.get("namespace", "").encode(), call.get("table", "").encode()
        self._clients.admin.adminSetSpaceLimit(*named, call.get("limit", 1 << 40), call.get("policy", "NO_INSERTS"))

    do_set_table_space_quota = do_set_space_quota

    def do_remove_space_quota(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminSetSpaceLimit(b"", call["table"].encode(), 0, "")

    def do_space_quota_sizes(self, _: dict[str, Any]) -> None:
        self._clients.admin.adminSpaceUsage()

    def do_get_quotas(self, call: dict[str, Any]) -> int:
        return sum(one.get("table") == call["table"] for one in self._clients.admin.adminQuotas())

    def do_rpc_throttle_enabled(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminThrottlingEnabled()

    def do_rpc_throttle_toggle(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminSetThrottling(True)

    def do_normalize(self, _: dict[str, Any]) -> None:
        self._clients.admin.adminNormalize([])

    def do_normalizer_toggle(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminNormalizerSwitch(True)

    def do_normalizer_enabled(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminNormalizerEnabled()

    def do_split_enabled(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminIsOn(b"splits")

    def do_split_toggle(self, _: dict[str, Any]) -> bool:
        return self._clients.admin.adminSwitch(b"splits", True)

    def do_catalog_janitor(self, _: dict[str, Any]) -> str:
        self._clients.admin.adminRunCatalogJanitor()
        return "ran"

    def do_cleaner_chore(self, _: dict[str, Any]) -> str:
        self._clients.admin.adminRunCleaner()
        return "ran"

    def do_roll_wal(self, _: dict[str, Any]) -> None:
        self._clients.admin.adminRollLog([])

    def do_compaction_toggle(self, _: dict[str, Any]) -> None:
        self._clients.admin.adminCompactionSwitch(True, [])

    def do_list_dead_servers(self, _: dict[str, Any]) -> int:
        return len(self._clients.admin.adminDeadServers())

    def do_list_decommissioned(self, _: dict[str, Any]) -> int:
        return len(self._clients.admin.adminDecommissioned())

    def do_cluster_metrics(self, _: dict[str, Any]) -> int:
        return len(self._clients.admin.adminStatus().servers)

    # ---------------------------------------------------------------- permissions

    def do_grant(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminGrant(_grant(call, call["to"], call["actions"]), not call.get("merge", True))

    def do_revoke(self, call: dict[str, Any]) -> None:
        self._clients.admin.adminRevoke(_grant(call, call["from"], call.get("actions", "")))

    def do_user_permissions(self, call: dict[str, Any]) -> list[str]:
        return [_permission(one) for one in self._clients.admin.adminGrants(_grant(call, call.get("user", ""), ""))]


class Thrift1Session(Session):
    """The same calls, of cells by Thrift1."""

    def do_get(self, call: dict[str, Any]) -> list[str]:
        if call.keys() & {"versions", "filter", "exists_only"}:
            raise NotImplementedError("Thrift1 has no such get")
        columns = [name.encode() for name in call.get("columns", ())]
        table, row = call["table"].encode(), call["row"].encode()
        one = self._clients.thrift1
        found = one.getRowWithColumns(table, row, columns, {}) if columns else one.getRow(table, row, {})
        return [cell for each in found for cell in _cells1(each)]

    def do_scan(self, call: dict[str, Any]) -> Any:
        if call["table"].startswith("hbase:") or call.keys() & {"raw", "limit", "versions"}:
            raise NotImplementedError("Thrift1 has no such scan")
        one = self._clients.thrift1
        scan = interface("thrift1").TScan(
            startRow=call.get("start", "").encode(),
            stopRow=call.get("stop", "").encode(),
            columns=[name.encode() for name in call.get("columns", ())],
            caching=call.get("caching"),
            filterString=call["filter"].encode() if "filter" in call else None,
            batchSize=call.get("batch"),
            reversed=call.get("reversed"),
        )
        number = one.scannerOpenWithScan(call["table"].encode(), scan, {})
        found: list[Any] = []
        while rows := one.scannerGetList(number, 100):
            found += rows
        one.scannerClose(number)
        if call.get("rows"):
            return [each.row.decode() for each in found]
        pieces = [_cells1(each) for each in found]
        return pieces if call.get("batch") else [cell for piece in pieces for cell in piece]

    def do_put(self, call: dict[str, Any]) -> None:
        if call["table"].startswith("hbase:") or "acl" in call:
            raise NotImplementedError(call["table"])
        mutations = self._changes(call)
        table, row = call["table"].encode(), call["row"].encode()
        if "ts" in call:
            self._clients.thrift1.mutateRowTs(table, row, mutations, call["ts"], {})
        else:
            self._clients.thrift1.mutateRow(table, row, mutations, {})

    def do_delete(self, call: dict[str, Any]) -> None:
        one, table, row = self._clients.thrift1, call["table"].encode(), call["row"].encode()
        kinds = {kind for kind, *_ in call["kinds"]}
        if kinds == {"row"}:
            one.deleteAllRow(table, row, {})
        elif kinds <= {"columns", "family"} and len(call["kinds"]) == 1:
            one.deleteAll(table, row, call["kinds"][0][1].encode(), {})
        elif kinds == {"columns"}:
            one.mutateRow(table, row, self._changes(call), {})
        else:
            raise NotImplementedError("Thrift1 has no such delete")

    def _changes(self, what: dict[str, Any]) -> list[Any]:
        make = interface("thrift1").Mutation
        puts = [make(column=column.encode(), value=stored(value)) for column, value in what.get("cells", {}).items()]
        return puts + [make(isDelete=True, column=column.encode()) for _, column in what.get("kinds", ())]

    def do_mutate_row(self, call: dict[str, Any]) -> list[str]:
        raise NotImplementedError("Thrift1 carries deletes of a row out before its puts")

    def do_increment(self, call: dict[str, Any]) -> list[str]:
        if len(call["cells"]) > 1 or call.get("no_result"):
            raise NotImplementedError("Thrift1 adds to one counter, and gives it back")
        ((column, amount),) = call["cells"].items()
        found = self._clients.thrift1.atomicIncrement(
            call["table"].encode(), call["row"].encode(), column.encode(), amount
        )
        return [f"{call['row']} {column}=#{found}"]

    def do_append(self, call: dict[str, Any]) -> list[str]:
        if call.get("no_result"):
            raise NotImplementedError("Thrift1 gives back what was appended to")
        append = interface("thrift1").TAppend(
            call["table"].encode(),
            call["row"].encode(),
            [column.encode() for column in call["cells"]],
            [value.encode() for value in call["cells"].values()],
        )
        found = self._clients.thrift1.append(append)
        pairs = zip(call["cells"], found, strict=True)
        return sorted(f"{call['row']} {column}={shown_cell(cell.value)}" for column, cell in pairs)

    def do_check_and_mutate(self, call: dict[str, Any]) -> bool:
        check, then = call["check"], call["then"]
        if "column" not in check or then["kind"] != "put" or len(then["cells"]) > 1:
            raise NotImplementedError("Thrift1 puts one column if another has a value")
        (change,) = self._changes(then)
        return self._clients.thrift1.checkAndPut(
            call["table"].encode(),
            call["row"].encode(),
            check["column"].encode(),
            None if check.get("absent") else check["value"].encode(),
            change,
            {},
        )


class Adapter:
    """`connect(user, groups)` gives that user's clients, `session` says by which of them cells are read and written."""

    SUPERUSER, SUPERGROUP, RUNNER = "admin", "supers", "root"
    PROPAGATION = 0.0

    def __init__(
        self,
        connect: Callable[[str, Sequence[str]], Clients],
        refused: type[Exception],
        session: type[Session] = Session,
    ) -> None:
        self._session = session
        self._connect = connect
        self._refused = refused
        self._sessions: dict[tuple[str, tuple[str, ...]], Session] = {}

    def act_as(self, user: str, groups: Sequence[str] = ()) -> Session:
        key = user, tuple(groups)
        if key not in self._sessions:
            # The superuser fills tables and looks at them, in one form for all.
            made = Session if user == self.SUPERUSER else self._session
            self._sessions[key] = made(self._connect(user, groups), user, groups, self._refused)
        return self._sessions[key]

    def grant(self, to: str, actions: str, **where: str) -> None:
        self.act_as(self.SUPERUSER).do({"do": "grant", "to": to, "actions": actions, **where})

    def revoke(self, to: str, **where: str) -> None:
        self.act_as(self.SUPERUSER).do({"do": "revoke", "from": to, **where})


def _split(column: str) -> tuple[bytes, bytes | None]:
    family, colon, qualifier = column.encode().partition(b":")
    return family, qualifier if colon else None


def _columns(call: dict[str, Any]) -> list[Any] | None:
    if not call.get("columns"):
        return None
    return [interface("thrift2").TColumn(*_split(column)) for column in call["columns"]]


def _cells(result: Any, row: str = "") -> list[str]:
    """As check_matrix.py writes them."""
    key = row or (result.row or b"").decode()
    return [
        f"{key} {one.family.decode()}:{one.qualifier.decode()}={shown_cell(one.value)}"
        + (" Delete" if one.type not in (None, PUT_TYPE) else "")
        for one in result.columnValues
    ]


def stored(value: str | int) -> bytes:
    return value.encode() if isinstance(value, str) else value.to_bytes(8, "big")


def shown_cell(value: bytes) -> str:
    if len(value) == 8 and not value[0]:
        return f"#{int.from_bytes(value, 'big')}"
    return value.decode()


def _name(table: str) -> Any:
    namespace, colon, qualifier = table.encode().partition(b":")
    return interface("thrift2").TTableName(*((namespace, qualifier) if colon else (b"default", namespace)))


def _table(name: str, families: Sequence[str]) -> Any:
    two = interface("thrift2")
    columns = [two.TColumnFamilyDescriptor(name=family.encode(), maxVersions=3) for family in families]
    return two.TTableDescriptor(tableName=_name(name), columns=columns)


def _shown(names: Sequence[Any]) -> list[str]:
    return sorted(
        (one.qualifier if one.ns in (None, b"default") else one.ns + b":" + one.qualifier).decode() for one in names
    )


def _grant(call: dict[str, Any], holder: str, actions: str) -> Any:
    return interface("admin").AdminGrant(
        holder=holder,
        actions=actions,
        namespaceName=(call.get("namespace") or "").encode(),
        table=(call.get("table") or "").encode(),
        family=(call.get("family") or "").encode(),
        qualifier=call["qualifier"].encode() if call.get("qualifier") else None,
    )


def _permission(grant: Any) -> str:
    if grant.table:
        columns = b",".join((grant.table, grant.family)) if grant.family else grant.table
        where = columns + (b":" + grant.qualifier if grant.qualifier is not None else b"")
        return f"{grant.holder} {where.decode()} {grant.actions}"
    if grant.namespaceName:
        return f"{grant.holder} @{grant.namespaceName.decode()} {grant.actions}"
    return f"{grant.holder} global {grant.actions}"


def _cells1(found: Any) -> list[str]:
    return [
        f"{found.row.decode()} {name.decode()}={shown_cell(cell.value)}" for name, cell in sorted(found.columns.items())
    ]

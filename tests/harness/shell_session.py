"""The calls of compat-tests/access as somebody types them into the shell, over a user's clients."""

import io
import json
import re
from collections.abc import Sequence
from typing import Any

from hbtable.shell.answers.formats import make_output
from hbtable.shell.context import Context
from hbtable.shell.errors import ServerError, ShellError
from hbtable.shell.language.literals import Value
from hbtable.shell.language.parser import parse
from hbtable.shell.session import ShellSession
from tests.harness.access_adapter import Clients, Session
from tests.harness.library_session import connection_over

_WITHOUT_CLASS = {
    r"Unknown table .*|Can't find a table: .*|Table .* does not exist\.": "TableNotFoundException",
    r"Unknown namespace .*|Can't find a namespace: .*": "NamespaceNotFoundException",
    r"Can't find a family: .*": "NoSuchColumnFamilyException",
    r"Table already exists: .*": "TableExistsException",
    r"Table .* is disabled!": "TableNotEnabledException",
    r"Table .* is enabled\. Disable it first\.": "TableNotDisabledException",
}
"""What the shell says in its own words."""


class TypedSession(Session):
    """What the shell has no command for is left out."""

    def __init__(self, clients: Clients, user: str, groups: Sequence[str], refused: type[Exception]) -> None:
        super().__init__(clients, user, groups, refused)
        self._connection = connection_over(clients)

    def do(self, call: dict[str, Any]) -> Any:
        if f"do_{call['do']}" not in vars(TypedSession):
            raise NotImplementedError(call["do"])
        return super().do(call)

    def _translated(self, error: Exception) -> Exception:
        text = str(error)
        if isinstance(error, ServerError):
            return self._refused(error.java_class.rpartition(".")[2], text)
        for words, name in _WITHOUT_CLASS.items():
            if isinstance(error, ShellError) and re.fullmatch(words, text):
                return self._refused(name, text)
        return super()._translated(error)

    def typed(self, line: str, output: str = "hbase") -> tuple[Value, str]:
        """What the line evaluates to, and what it prints."""
        stream = io.StringIO()
        context = Context(self._connection, make_output(output, stream), lambda question: True, lambda: 0, _no_sleep)
        session = ShellSession(context, lambda: 0.0)
        value: Value = None
        for statement in parse(line + "\n"):
            value = session.interpreter.evaluate(statement)
        context.out.flush()
        return value, stream.getvalue()

    def _cells(self, line: str) -> list[str]:
        found = [json.loads(one) for one in self.typed(line, "jsonl")[1].splitlines()]
        return [f"{one['row']} {one['column']}={_shown(one['value'])}" for one in found]

    # ---------------------------------------------------------------- cells

    def do_get(self, call: dict[str, Any]) -> list[str]:
        if "exists_only" in call or ("versions" in call and "columns" not in call):
            raise NotImplementedError("the shell has no such get")
        return self._cells(_line("get", call["table"], call["row"], _options(call)))

    def do_scan(self, call: dict[str, Any]) -> Any:
        if call["table"].startswith("hbase:") or call.keys() & {"raw", "batch"}:
            raise NotImplementedError("answered in another form")
        cells = self._cells(_line("scan", call["table"], _options(call)))
        return list(dict.fromkeys(cell.partition(" ")[0] for cell in cells)) if call.get("rows") else cells

    def do_put(self, call: dict[str, Any]) -> None:
        if len(call["cells"]) > 1 or "acl" in call or call["table"].startswith("hbase:"):
            raise NotImplementedError("a cell at a time, without permissions of its own")
        ((column, value),) = call["cells"].items()
        if not isinstance(value, str):
            raise NotImplementedError("a counter")
        self.typed(_line("put", call["table"], call["row"], column, value, *_time(call)))

    def do_delete(self, call: dict[str, Any]) -> None:
        if len(call["kinds"]) > 1:
            raise NotImplementedError("a delete at a time")
        ((kind, *named),) = call["kinds"]
        if kind == "family_version":
            raise NotImplementedError(kind)
        command = "delete" if kind == "column" else "deleteall"
        self.typed(_line(command, call["table"], call["row"], *named))

    def do_increment(self, call: dict[str, Any]) -> list[str]:
        if len(call["cells"]) > 1 or call.get("no_result"):
            raise NotImplementedError("a counter at a time, which is shown")
        ((column, amount),) = call["cells"].items()
        _, text = self.typed(_line("incr", call["table"], call["row"], column, amount))
        return [f"{call['row']} {column}=#{_behind(text, 'COUNTER VALUE = ')}"]

    def do_append(self, call: dict[str, Any]) -> list[str]:
        if len(call["cells"]) > 1 or call.get("no_result"):
            raise NotImplementedError("a cell at a time, which is shown")
        ((column, suffix),) = call["cells"].items()
        _, text = self.typed(_line("append", call["table"], call["row"], column, suffix))
        return [f"{call['row']} {column}={_behind(text, 'CURRENT VALUE = ')}"]

    # ---------------------------------------------------------------- tables and namespaces

    def do_table_exists(self, call: dict[str, Any]) -> Value:
        return self.typed(_line("exists", call["table"]))[0]

    def do_is_enabled(self, call: dict[str, Any]) -> Value:
        return self.typed(_line("is_enabled", call["table"]))[0]

    def do_is_disabled(self, call: dict[str, Any]) -> Value:
        return self.typed(_line("is_disabled", call["table"]))[0]

    def do_truncate(self, call: dict[str, Any]) -> None:
        raise NotImplementedError("the shell disables the table first")

    def do_add_family(self, call: dict[str, Any]) -> None:
        self.typed(_line("alter", call["table"], {"NAME": call["family"]}))

    def do_modify_family(self, call: dict[str, Any]) -> None:
        self.typed(_line("alter", call["table"], {"NAME": call["family"], "VERSIONS": call.get("versions", 5)}))

    def do_delete_family(self, call: dict[str, Any]) -> None:
        self.typed(_line("alter", call["table"], {"NAME": call["family"], "METHOD": "delete"}))

    def do_create_table(self, call: dict[str, Any]) -> None:
        splits = {"SPLITS": call["splits"]} if call.get("splits") else {}
        families = [{"NAME": name, "VERSIONS": 3} for name in call["families"]]
        self.typed(_line("create", call["table"], *families, splits))

    def do_create_namespace(self, call: dict[str, Any]) -> None:
        self.typed(_line("create_namespace", call["namespace"]))

    def do_modify_namespace(self, call: dict[str, Any]) -> None:
        self.typed(_line("alter_namespace", call["namespace"], {"METHOD": "set", "a": "b"}))

    def do_delete_namespace(self, call: dict[str, Any]) -> None:
        self.typed(_line("drop_namespace", call["namespace"]))

    def do_flush(self, call: dict[str, Any]) -> None:
        self.typed(_line("flush", call["table"]))

    def do_compact(self, call: dict[str, Any]) -> None:
        self.typed(_line("compact", call["table"]))

    def do_major_compact(self, call: dict[str, Any]) -> None:
        self.typed(_line("major_compact", call["table"]))

    def do_split(self, call: dict[str, Any]) -> None:
        self.typed(_line("split", call["table"], call["at"]))

    # ---------------------------------------------------------------- permissions

    def do_grant(self, call: dict[str, Any]) -> None:
        if not call.get("merge", True):
            raise NotImplementedError("the shell adds to what is held")
        self.typed(_line("grant", call["to"], call["actions"], *_where(call)))

    def do_revoke(self, call: dict[str, Any]) -> None:
        if "actions" in call:
            raise NotImplementedError("the shell takes all back")
        self.typed(_line("revoke", call["from"], *_where(call)))


def _where(call: dict[str, Any]) -> list[str]:
    if "namespace" in call:
        return ["@" + call["namespace"]]
    return [call[name] for name in ("table", "family", "qualifier") if name in call]


def _options(call: dict[str, Any]) -> dict[str, Any]:
    words = {"columns": "COLUMNS", "filter": "FILTER", "versions": "VERSIONS", "limit": "LIMIT", "start": "STARTROW",
             "stop": "STOPROW", "reversed": "REVERSED", "caching": "CACHE"}  # fmt: skip
    return {word: call[name] for name, word in words.items() if name in call}


def _time(call: dict[str, Any]) -> list[int]:
    return [call["ts"]] if "ts" in call else []


def _line(command: str, *arguments: Any) -> str:
    return f"{command} {', '.join(_ruby(one) for one in arguments if one != {})}"


def _ruby(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} => {_ruby(held)}" for name, held in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_ruby, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value).lower()


def _key(name: str) -> str:
    return name if name.isupper() else f"'{name}'"


def _behind(text: str, words: str) -> str:
    return text.partition(words)[2].partition("\n")[0]


def _shown(value: Any) -> str:
    """A number of 8 bytes as check_matrix.py writes it."""
    if isinstance(value, str) and len(value) == 8 and value[0] == "\0":
        return f"#{int.from_bytes(value.encode(), 'big')}"
    return str(value)


def _no_sleep(seconds: float) -> None: ...

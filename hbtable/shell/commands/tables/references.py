"""Table references: `t = get_table 't1'`, then `t.put 'r', 'f:q', 'v'` and whatever else takes a table's name."""

from typing import Final, final

from hbtable.shell.arguments.names import table_of
from hbtable.shell.context import Context, show_name
from hbtable.shell.errors import UnknownMethod
from hbtable.shell.language.evaluate import RunCommand
from hbtable.shell.language.literals import Value

_NAMES: Final = """
    put get scan count delete deleteall incr append get_counter get_splits describe enable disable drop flush snapshot
    compact major_compact split truncate get_all_columns exists is_enabled is_disabled alter
    """
_METHODS: Final = frozenset(_NAMES.split())


@final
class TableReference:
    """A name, nothing more: the table need not exist."""

    def __init__(self, name: bytes) -> None:
        self.name = name.removeprefix(b"default:")

    def inspect(self) -> str:
        return f"Hbase::Table - {show_name(self.name)}"

    def call(self, name: str, arguments: list[Value], run: RunCommand) -> Value:
        if name == "name":
            return self.name
        if name in ("to_s", "inspect"):
            return self.inspect().encode()
        if name == "help":
            return run("help", arguments) if arguments else run("table_help", [])
        if name not in _METHODS:
            raise UnknownMethod(f"undefined method `{name}' for {self.inspect()}:Hbase::Table")
        return run(name, [self.name, *arguments])


def get_table(_: Context, arguments: list[Value]) -> Value:
    return TableReference(table_of(arguments[0]))

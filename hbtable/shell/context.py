"""The context of a command: the server, the place for its answer, and questions to the person."""

from collections.abc import Callable
from typing import Final, final

from hbtable.hbase.admin.structs import AdminTable
from hbtable.model.visible import visible
from hbtable.shell.answers.output import Output
from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ArgumentError, ServerError, ShellError
from hbtable.shell.language.literals import Value, class_of, inspect, shown

_MESSAGES: Final = {
    "a table name": "Table name must be of type String",
    "a namespace": "Namespace name must be of type String",
}
"""HBase's own."""
TABLE_NOT_FOUND = "org.apache.hadoop.hbase.TableNotFoundException"


@final
class Context:
    """The surroundings of a command. `confirm` asks and returns whether to go on. `interactive`: a person sits at a
    terminal."""

    def __init__(
        self,
        server: ShellConnection,
        out: Output,
        confirm: Callable[[str], bool],
        wall_millis: Callable[[], int],
        sleep: Callable[[float], None],
        interactive: bool = False,
    ) -> None:
        self.server = server
        self.out = out
        self.confirm = confirm
        self.wall_millis = wall_millis
        self.sleep = sleep
        self.interactive = interactive

    def table(self, name: bytes) -> AdminTable:
        """`Unknown table X!` when there is none."""
        try:
            found: AdminTable = self.server.admin("adminTable", name)
        except ServerError as error:
            raise table_error(error, name) from None
        return found

    def find_table(self, name: bytes) -> AdminTable | None:
        """None when there is none."""
        try:
            found: AdminTable = self.server.admin("adminTable", name)
        except ServerError as error:
            if error.java_class == TABLE_NOT_FOUND:
                return None
            raise
        return found

    def on_table(self, name: bytes, method: str, *arguments: object) -> object:
        """A call of our own service about table `name`, its errors in HBase's words."""
        try:
            found: object = self.server.admin(method, name, *arguments)
        except ServerError as error:
            raise table_error(error, name) from None
        return found


def table_error(error: ServerError, name: bytes) -> ShellError:
    """The error that HBase's shell shows for an exception about a table."""
    shown = show_name(name)
    if error.java_class == TABLE_NOT_FOUND:
        return ShellError(f"Unknown table {shown}!", about=("table", name))
    if error.java_class.endswith(".TableNotEnabledException"):
        return ShellError(f"Table {shown} is disabled!", about=("disabled table", name))
    if error.java_class.endswith(".NamespaceNotFoundException"):
        return unknown_namespace(name)
    return error


def unknown_namespace(name: bytes) -> ShellError:
    """`name` is the namespace's, or a table's in it."""
    namespace = name.partition(b":")[0]
    return ShellError(f"Unknown namespace {show_name(namespace)}!", about=("namespace", namespace))


def show_name(name: bytes) -> str:
    return visible(name.decode("utf-8", "backslashreplace"))


def row_of(value: Value, what: str = "a row key") -> bytes:
    """A row or a value as Ruby's to_s makes it of any scalar: 5 is the row '5'. ArgumentError for arrays and hashes."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, (list, dict)):
        raise ArgumentError(f"{what} must be a string in quotes, not {inspect(value)} ({class_of(value)})")
    return shown(value).encode("utf-8", "surrogateescape")


def text_of(value: Value, what: str) -> bytes:
    """A string argument. ArgumentError says what it is."""
    if not isinstance(value, bytes):
        error = ArgumentError(_MESSAGES.get(what, f"{what} must be a string in quotes, not {inspect(value)}"))
        error.advice = f"{inspect(value)} is of type {class_of(value)}: strings stand in quotes"
        raise error
    return value

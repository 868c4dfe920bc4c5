"""The second line of an error: what the person can do next. HBase's message stays the first."""

from typing import Final

from hbtable.shell.arguments.known_options import OPTIONS, nearest
from hbtable.shell.connection import ShellConnection
from hbtable.shell.context import show_name
from hbtable.shell.errors import CannotConnect, ShellError, UnknownMethod, UnknownName
from hbtable.shell.language.constants import CONSTANTS

_RUBY: Final = ("org", "java", "com", "import", "java_import", "include", "require")
_CONSTANT: Final = "uninitialized constant HBaseReceiver::"
_NO_SERVER: Final = "Could not find any server(s) with specified name(s)"
_SHOWN: Final = 10
_SQL: Final = {"select": "scan", "insert": "put", "update": "put", "show": "list", "set": "put", "ls": "list"}
"""Commands of other shells, and the one that is meant here."""


def advice(error: ShellError, server: ShellConnection, commands: list[str], one_shot: bool) -> str:
    """Empty when there is none. Asks the server for names. `one_shot`: typed as hbtable COMMAND."""
    if error.advice:
        return error.advice
    if isinstance(error, (UnknownName, UnknownMethod)):
        return _of_word(error, commands)
    if isinstance(error, CannotConnect):
        return ""
    if _NO_SERVER in str(error):
        return _of_servers(server)
    if error.about is None:
        return ""
    what, name = error.about
    shown = show_name(name)
    if what == "disabled table":
        return f"{_command('enable', shown, one_shot)} puts it back into service"
    if what == "enabled table":
        return f"{_command('disable', shown, one_shot)} takes it out of service"
    try:
        there = [show_name(one) for one in _names(server, what)]
    except ShellError:
        return ""
    if what == "region":
        table = shown if shown in there else "TABLE"
        return f"{_command('list_regions', table, one_shot=False)} shows the names of a table's regions"
    if what == "imported table" and not nearest(shown, there, 3):
        return "an import makes no table: create it first, with the families of the columns"
    if what in ("table", "imported table"):
        return _of_names(shown, there, "tables", "list") or "there is no table yet: create makes one"
    made = _command("create_namespace", shown, one_shot=False)
    return f"{_of_names(shown, there, 'namespaces', 'list_namespace')}; {made} makes it"


def _names(server: ShellConnection, what: str) -> list[bytes]:
    if what == "namespace":
        found: list[bytes] = server.admin("adminNamespaces")
        return found
    return [table.name for table in server.admin("adminTables")]


def _of_servers(server: ShellConnection) -> str:
    try:
        found = server.admin("adminServers", [])
    except ShellError:
        return ""
    names = [f"{one.host},{one.port},{one.started_millis}" for one in found]
    more = f" and {len(names) - _SHOWN} more, which list_liveservers shows" if len(names) > _SHOWN else ""
    return f"the servers are {' '.join(names[:_SHOWN])}{more}"


def _of_names(name: str, there: list[str], what: str, command: str) -> str:
    near = nearest(name, there, 3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if len(there) > _SHOWN:
        return f"{command} shows the {len(there)} {what} that there are"
    return f"the {what} are {', '.join(there)}" if there else ""


def _command(name: str, argument: str, one_shot: bool) -> str:
    return f"hbtable {name} {argument}" if one_shot else f"{name} '{argument}'"


def _of_word(error: ShellError, commands: list[str]) -> str:
    message = str(error)
    if message.startswith(_CONSTANT) and not message.endswith(("Filter", "::Time", "::Java")):
        return _of_constant(message.removeprefix(_CONSTANT), error.command)
    word = message.rpartition("`")[2].rstrip("'") if "`" in message else ""
    if word in _RUBY or message.endswith(("Filter", "::Time", "::Java")):
        return "classes of Java and Ruby are not there; a filter is a text: FILTER => \"PrefixFilter('a')\""
    if not word or " for " in message:
        return ""
    near = [_SQL[word.lower()]] if word.lower() in _SQL else nearest(word, commands, 3)
    return f"did you mean {' or '.join(near)}?" if near else "help lists the commands"


def _of_constant(name: str, command: str) -> str:
    options = OPTIONS.get(command, ())
    if name in options:
        return f"it is an option of {command} and no constant of HBase's: write it in quotes, '{name}'"
    near = nearest(name, options) or nearest(name, sorted(CONSTANTS), 2)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    listed = f"the options of {command} are {', '.join(options)}" if options else "words of your own stand in quotes"
    return f"{meant}{listed}"

"""The services of thrift/tabletserver.thrift and thrift/master.thrift, and the calls in thrift/admin.thrift that these
carry out, from what hbtable/rpc/services.py declares.

    make interfaces     writes them; a test fails while they are not as declared

Structs stand in the files themselves. Names of arguments do not go over the wire.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import get_args, get_origin

from hbtable.hbase.admin.declared import OFFERED, OFFERED_BY_SERVERS
from hbtable.rpc.codec import call_budget, cells, errors, model
from hbtable.rpc.codec.call_budget import COST_FIELD
from hbtable.rpc.codec.calls import METHODS, USERS_METHODS, RpcMethod
from hbtable.rpc.declaration import DeclaredCall, calls_of, type_of
from hbtable.rpc.services import (
    MasterService,
    NamespaceName,
    RelayService,
    ServerName,
    TableName,
    TabletAdmin,
    TabletService,
)
from hbtable.thrift.shapes import BINARY, BOOLEAN, INTEGER, REQUIRED, TEXT, TEXT_MAP, Field, Struct, ValueType
from hbtable.thrift.wire import LIST, SET, STRING

FOLDER = Path(__file__).parents[2] / "thrift"
SERVICES = {"tabletserver": (TabletService, RelayService, TabletAdmin), "master": (MasterService,)}
"""By file."""
FILES = (*SERVICES, "admin")
_SECTION = "what rpc/services.py declares: make interfaces */\n"
_WIDTH = 120
_NO_BREAK = "\0"
_ADMIN_KINDS: dict[object, str] = {
    None: "void",
    bool: "bool",
    bytes: "binary",
    int: "i64",
    str: "string",
    TableName: "binary",
    NamespaceName: "binary",
    ServerName: "binary",
    Mapping[str, str]: "map<string, string>",
}
_NAMES = {id(shape): name for module in (call_budget, cells, errors, model) for name, shape in vars(module).items()}
_PLAIN = {BINARY: "binary", BOOLEAN: "bool", INTEGER: "i64", TEXT: "string", TEXT_MAP: "map<string, string>"}


def kind(shape: ValueType, prefix: str) -> str:
    """`prefix`: of structs that stand in another file."""
    if shape in _PLAIN:
        return _PLAIN[shape]
    if shape.kind in (LIST, SET):
        assert shape.element is not None
        return f"{'set' if shape.kind == SET else 'list'}<{kind(shape.element, prefix)}>"
    if shape.kind == STRING:
        return "binary"
    assert isinstance(shape, Struct)
    return prefix + _NAMES[id(shape)].title().replace("_", "")


def argument(field: Field, prefix: str) -> str:
    optional = "" if field.default is REQUIRED else "optional "
    default = f' = "{field.default.decode()}"' if isinstance(field.default, bytes) else ""
    return f"{field.id}: {optional}{kind(field.shape, prefix)} {field.name}{default}".replace(" ", _NO_BREAK)


def lines(method: RpcMethod, doc: str, prefix: str) -> list[str]:
    answer = kind(method.result.fields[0].shape, prefix) if method.returns else "void"
    given = ", ".join(argument(field, prefix) for field in method.arguments.fields)
    cost = f", {COST_FIELD}: {prefix}CostOfCall cost" if method.is_budgeted else ""
    throws = f"throws (1: {prefix}RpcError error{cost}),".replace(" ", _NO_BREAK)
    text = f"{answer}{_NO_BREAK}{method.name}({given}) {throws}"
    wrapped = wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
    return [*comment("  ", doc), *(line.replace(_NO_BREAK, " ") for line in wrapped)]


def comment(indent: str, doc: str) -> list[str]:
    return wrap(f"/** {' '.join(doc.split())} */", _WIDTH, initial_indent=indent, subsequent_indent=f"{indent} * ")


def service_text(service: type, prefix: str) -> str:
    found = [f"service {service.__name__} {{"]
    for name in calls_of(service):
        found += lines(METHODS[name], getattr(service, name).__doc__ or "", prefix)
    if service is TabletService:
        for name, method in USERS_METHODS.items():
            found += lines(method, f"As {name}, if the user may.", prefix)
    found[-1] = found[-1].removesuffix(",")
    return "\n".join([*found, "}"])


def written(file: str, text: str) -> str:
    """The file's text with its services as they are declared; of our own admin service the last section."""
    if file == "admin":
        head, mark, _ = text.partition(_SECTION)
        assert mark, "admin.thrift has lost its last section"
        return f"{head}{mark}{admin_text()}}}\n"
    for service in SERVICES[file]:
        made = service_text(service, "tabletserver." if file == "master" else "")
        text, count = re.subn(rf"(?ms)^service {service.__name__} \{{.*?^\}}", lambda _: made, text)  # noqa: B023
        assert count == 1, f"{file}.thrift has no service {service.__name__}"
    return text


def admin_text() -> str:
    found = []
    for name, declared in OFFERED.items():
        given = admin_arguments(declared, METHODS[declared.name].arguments.fields)
        # What is only yes or no cannot be wrong.
        refused = any(one.annotation is not bool for one in declared.parameters)
        doc = getattr(MasterService, declared.name).__doc__ or ""
        found += admin_lines(name, admin_kind(declared.returns), given, refused, doc)
    for name, declared in OFFERED_BY_SERVERS.items():
        given = admin_arguments(declared, METHODS[declared.name].arguments.fields[1:])  # without the server
        answer, doc = admin_kind(declared.returns), getattr(TabletAdmin, declared.name).__doc__ or ""
        doc += " Of each of these servers, as adminServers takes them; of none: of all that live."
        if declared.returns is not None:
            answer, doc = f"map<string, {answer}>", f"{doc} The answers are by `host,port,startcode`."
        found += admin_lines(name, answer, [*given, ("list<binary>", "servers")], True, doc)
    return "".join(f"{line}\n" for line in found)


def admin_arguments(declared: DeclaredCall, fields: Sequence[Field]) -> list[tuple[str, str]]:
    """Type and name of each."""
    return [(admin_kind(type_of(one)), field.name) for one, field in zip(declared.parameters, fields, strict=True)]


def admin_lines(name: str, answer: str, given: Sequence[tuple[str, str]], refused: bool, doc: str) -> list[str]:
    """`given`: admin_arguments()."""
    arguments = ", ".join(
        f"{number}: {kind} {argument}".replace(" ", _NO_BREAK) for number, (kind, argument) in enumerate(given, 1)
    )
    throws = f"throws (1: IOError io{', 2: IllegalArgument ia' if refused else ''})".replace(" ", _NO_BREAK)
    text = f"{answer} {name}".replace(" ", _NO_BREAK) + f"({arguments}) {throws}"
    wrapped = wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
    return [*comment("  ", doc), *(line.replace(_NO_BREAK, " ") for line in wrapped)]


def admin_kind(kind: object) -> str:
    """The type by which programs call it. Lists of such types need no line in the table."""
    if get_origin(kind) in (list, Sequence):
        return f"list<{admin_kind(get_args(kind)[0])}>"
    if kind not in _ADMIN_KINDS:
        raise LookupError(f"admin.thrift has no type for {kind}: give it one here, and a meaning in admin/declared.py")
    return _ADMIN_KINDS[kind]


if __name__ == "__main__":
    for name in FILES:
        path = FOLDER / f"{name}.thrift"
        path.write_text(written(name, path.read_text()))

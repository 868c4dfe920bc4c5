"""The services of thrift/tabletserver.thrift and thrift/master.thrift, and the master's calls in thrift/admin.thrift,
from what hbtable/rpc/services.py declares.

    make interfaces     writes them; a test fails while they are not as declared

Structs stand in the files themselves. Names of arguments do not go over the wire.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from hbtable.hbase.admin.declared import OFFERED
from hbtable.rpc.codec import cells, errors, model
from hbtable.rpc.codec.calls import METHODS, RpcMethod
from hbtable.rpc.declaration import calls_of
from hbtable.rpc.services import MasterService, NamespaceName, ServerName, TableName, TabletAdmin, TabletService
from hbtable.thrift.shapes import BINARY, BOOLEAN, INTEGER, REQUIRED, TEXT, TEXT_MAP, Field, Struct, ValueType
from hbtable.thrift.wire import LIST, SET, STRING

FOLDER = Path(__file__).parents[2] / "thrift"
SERVICES = {"tabletserver": (TabletService, TabletAdmin), "master": (MasterService,)}
"""By file."""
FILES = (*SERVICES, "admin")
_SECTION = "what rpc/services.py declares: make interfaces */\n"
_WIDTH = 120
_NO_BREAK = "\0"
_ADMIN_KINDS: dict[object, str] = {
    None: "void",
    bool: "bool",
    int: "i64",
    Sequence[int]: "list<i64>",
    TableName: "binary",
    NamespaceName: "binary",
    ServerName: "binary",
    Sequence[ServerName]: "list<binary>",
    Mapping[str, str]: "map<string, string>",
}
_NAMES = {id(shape): name for module in (cells, errors, model) for name, shape in vars(module).items()}
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
    throws = f"throws (1: {prefix}RpcError error),".replace(" ", _NO_BREAK)
    text = f"{answer}{_NO_BREAK}{method.name}({given}) {throws}"
    wrapped = wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
    return [*comment("  ", doc), *(line.replace(_NO_BREAK, " ") for line in wrapped)]


def comment(indent: str, doc: str) -> list[str]:
    return wrap(f"/** {' '.join(doc.split())} */", _WIDTH, initial_indent=indent, subsequent_indent=f"{indent} * ")


def service_text(service: type, prefix: str) -> str:
    found = [f"service {service.__name__} {{"]
    for name in calls_of(service):
        found += lines(METHODS[name], getattr(service, name).__doc__ or "", prefix)
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
        given = ", ".join(
            f"{number}: {admin_kind(one.annotation)} {field.name}".replace(" ", _NO_BREAK)
            for number, (one, field) in enumerate(
                zip(declared.parameters, METHODS[declared.name].arguments.fields, strict=True), 1
            )
        )
        # What is only yes or no cannot be wrong.
        refused = any(one.annotation is not bool for one in declared.parameters)
        throws = f"throws (1: IOError io{', 2: IllegalArgument ia' if refused else ''})".replace(" ", _NO_BREAK)
        text = f"{admin_kind(declared.returns)}{_NO_BREAK}{name}({given}) {throws}"
        found += comment("  ", getattr(MasterService, declared.name).__doc__ or "")
        wrapped = wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
        found += [line.replace(_NO_BREAK, " ") for line in wrapped]
    return "".join(f"{line}\n" for line in found)


def admin_kind(kind: object) -> str:
    return _ADMIN_KINDS[kind]


if __name__ == "__main__":
    for name in FILES:
        path = FOLDER / f"{name}.thrift"
        path.write_text(written(name, path.read_text()))

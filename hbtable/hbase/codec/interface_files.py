"""Interface files (thrift/*.thrift), as thriftpy2 reads them. Of those that each start reads there are tables.

A table stands beside the file, with the digest of the text that it was made of (`make interfaces`). Of any other text,
thriftpy2 reads the file itself, with one parser for all of a process.
"""

import json
import sys
from functools import cache
from hashlib import sha256
from types import ModuleType
from typing import Any

_loaded: dict[str, ModuleType] = {}
"""By name, as thriftpy2 keeps them."""


def load_interface(path: str, module_name: str) -> ModuleType:
    """The file's services and structs, as `thriftpy2.load` gives them. A name that was loaded before gives the same
    module."""
    if module_name not in _loaded:
        from hbtable.hbase.codec.interface_tables import module_of  # and with it thriftpy2

        table = _table(path)
        made = parsed(path, module_name) if table is None else module_of(table, module_name, path)
        sys.modules[module_name] = _loaded.setdefault(module_name, made)  # another thread's, where it was first
    return _loaded[module_name]


def parsed(path: str, module_name: str) -> ModuleType:
    """The module that thriftpy2 makes of the file. By itself thriftpy2 makes the tables of its grammar anew for each
    file, for 0.03 s of the processor: as long as it takes to read one. Here they are made once."""
    from thriftpy2.parser.parser import parse

    return parse(path, module_name, parser=_parser())


@cache
def _parser() -> Any:
    """The parser that all files share. `parse` tells it which module is being filled, under thriftpy2's lock."""
    from thriftpy2.parser import parser

    return parser.yacc.yacc(module=parser, debug=False, write_tables=False)


def table_path(path: str) -> str:
    return path.removesuffix(".thrift") + ".json"


def digest(path: str) -> str:
    with open(path, "rb") as file:
        return sha256(file.read()).hexdigest()


def _table(path: str) -> dict[str, Any] | None:
    """None: there is none, or it is of another text."""
    try:
        with open(table_path(path), encoding="ascii") as file:
            table: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return None
    return table if table["of"] == digest(path) else None

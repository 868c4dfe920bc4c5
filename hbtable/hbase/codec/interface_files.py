"""Interface files (thrift/*.thrift), read by thriftpy2 with one parser for all of a process."""

import sys
from functools import cache
from types import ModuleType
from typing import Any


def load_interface(path: str, module_name: str) -> ModuleType:
    """The file's services and structs, as `thriftpy2.load` gives them. A name that was loaded before gives the same
    module. thriftpy2 makes the tables of its grammar anew for each file, for 0.03 s of the processor: as long as it
    takes to read one. Here they are made once."""
    from thriftpy2.parser.parser import parse

    loaded = parse(path, module_name, parser=_parser())
    sys.modules[module_name] = loaded
    return loaded


@cache
def _parser() -> Any:
    """The parser that all files share. `parse` tells it which module is being filled, under thriftpy2's lock."""
    from thriftpy2.parser import parser

    return parser.yacc.yacc(module=parser, debug=False, write_tables=False)

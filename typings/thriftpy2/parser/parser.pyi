# The reader of interface files, and the parser generator that it imports.
from types import ModuleType
from typing import Any

yacc: Any

def parse(path: str, module_name: str | None = None, *, parser: Any = None) -> ModuleType: ...

# What hbtable uses of thriftpy2; its own annotations lack the compiled modules.
from types import ModuleType

def load(path: str, module_name: str | None = None, include_dirs: list[str] | None = None) -> ModuleType: ...

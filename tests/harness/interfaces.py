"""Interface files as thriftpy2 reads them, each once in a process: tests look at them, and change nothing in them."""

from functools import cache
from pathlib import Path
from typing import Any

from hbtable.hbase.codec.interface_files import load_interface

FOLDER = Path(__file__).resolve().parents[2] / "thrift"


@cache
def interface(name: str) -> Any:
    """Of `thrift/NAME.thrift`: the module with its services and structs."""
    return load_interface(str(FOLDER / f"{name}.thrift"), f"read_by_tests_{name}_thrift")

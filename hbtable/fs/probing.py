"""Tries a file system with a small file: whether it can be written, read and deleted, and what time it is there.

probes/<16 hexadecimal digits>      a process that dies in the middle leaves one; master.collector removes it
"""

from typing import Final

from hbtable.errors import FileNotFound, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

PROBES: Final = "probes"


@switches
def probe(runtime: Runtime, fs: FileSystem) -> int:
    """The file system's wall clock, in milliseconds. Raises what the file system does; Unavailable when
    something else is read than was written."""
    path = f"{PROBES}/{runtime.random.getrandbits(64):016x}"
    content = path.encode()
    fs.write_file(path, content)
    if fs.read_file(path) != content:
        raise Unavailable(f"what was written to {path} reads otherwise")
    millis = fs.status(path).modified_millis
    try:
        fs.delete(path)
    except FileNotFound:
        pass  # an answer was lost, and the adapter asked again
    return millis

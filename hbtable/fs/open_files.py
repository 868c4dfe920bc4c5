"""Code that the adapters with open files share."""

from hbtable.fs.interface import FileSystem
from hbtable.switches import switches


@switches
def put_in_pieces(fs: FileSystem, path: str, data: bytes) -> None:
    """FileSystem.put_new by create, append and sync."""
    file = fs.create(path)
    try:
        file.append(data)
        file.sync()
    finally:
        file.close()

"""hbtable: Bigtable in Python with HBase's Thrift interface as its front door.

    import hbtable

    with hbtable.open("webdata") as db:
        table = db.create_table("webtable", {"contents": {}, "anchor": {"max_versions": 1}})
        table.put(b"com.cnn.www", {b"anchor:cnnsi.com": b"CNN"})
        print(table.row(b"com.cnn.www"))

The errors are in hbtable.errors. Nothing heavy is imported before open().
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hbtable.launch.embedded import Database

__version__ = "0.1.0"

__all__ = ["__version__", "open"]


def open(path: str) -> "Database":  # reads like the builtin it resembles
    """Opens, or makes, the database in folder `path`, served by a cluster of one inside this process.

    AlreadyExists names the process that holds the folder; UnsupportedFormat when a newer hbtable wrote it.
    """
    # By name: the packages below import this one, and must not seem to import launch.
    database: Database = import_module("hbtable.launch.embedded").Database(path)
    return database

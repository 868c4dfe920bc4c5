"""hbtable: Bigtable in Python behind HBase's Thrift interface.

    import hbtable

    with hbtable.open("webdata") as db:
        table = db.create_table("webtable", {"contents": {}, "anchor": {"max_versions": 1}})
        table.put(b"com.cnn.www", {b"anchor:cnnsi.com": b"CNN"})
        print(table.row(b"com.cnn.www"))

The errors of hbtable.errors and the classes of hbtable.library are here as well: `except hbtable.TableNotFound`,
`def report(db: hbtable.Database) -> None`. Nothing heavy is imported before open().
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from hbtable.client.batch import Batch
    from hbtable.client.filter_text import Filter
    from hbtable.errors import (
        AccessDenied,
        AlreadyExists,
        BadFilter,
        Conflict,
        Corruption,
        CostExceeded,
        DataDamaged,
        FileNotFound,
        HbtableError,
        InvalidConfiguration,
        InvalidRequest,
        LimitExceeded,
        LockLost,
        MemoryDamaged,
        MoveFailed,
        NamespaceNotFound,
        NoSuchFamily,
        NotACounter,
        NotAuthenticated,
        NotFound,
        NotSupported,
        OutcomeUnknown,
        OutOfSpace,
        Overloaded,
        ScannerNotFound,
        ServerLost,
        SpaceLimitReached,
        StaleLocation,
        Stalled,
        StorageFailed,
        SwitchedOff,
        TableExists,
        TableNotDisabled,
        TableNotEnabled,
        TableNotFound,
        TabletWithheld,
        Throttled,
        Unavailable,
        UnknownCall,
        UnsupportedFormat,
        WrongType,
        WrongValue,
    )
    from hbtable.launch.connected import ConnectedDatabase
    from hbtable.launch.embedded import EmbeddedDatabase
    from hbtable.library.database import Database
    from hbtable.library.options import FamilyDescription, FamilyOptions
    from hbtable.library.row_changes import RowChanges
    from hbtable.library.table import RegionDescription, Table
    from hbtable.model.usage import FamilyUsage

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "BadFilter",
    "Batch",
    "Conflict",
    "ConnectedDatabase",
    "Corruption",
    "CostExceeded",
    "DataDamaged",
    "Database",
    "EmbeddedDatabase",
    "FamilyDescription",
    "FamilyOptions",
    "FamilyUsage",
    "FileNotFound",
    "Filter",
    "HbtableError",
    "InvalidConfiguration",
    "InvalidRequest",
    "LimitExceeded",
    "LockLost",
    "MemoryDamaged",
    "MoveFailed",
    "NamespaceNotFound",
    "NoSuchFamily",
    "NotACounter",
    "NotAuthenticated",
    "NotFound",
    "NotSupported",
    "OutOfSpace",
    "OutcomeUnknown",
    "Overloaded",
    "RegionDescription",
    "RowChanges",
    "ScannerNotFound",
    "ServerLost",
    "SpaceLimitReached",
    "StaleLocation",
    "Stalled",
    "StorageFailed",
    "SwitchedOff",
    "Table",
    "TableExists",
    "TableNotDisabled",
    "TableNotEnabled",
    "TableNotFound",
    "TabletWithheld",
    "Throttled",
    "Unavailable",
    "UnknownCall",
    "UnsupportedFormat",
    "WrongType",
    "WrongValue",
    "__version__",
    "connect",
    "open",
]

_MODULES: Final = {
    "Batch": "client.batch",
    "ConnectedDatabase": "launch.connected",
    "Database": "library.database",
    "EmbeddedDatabase": "launch.embedded",
    "FamilyDescription": "library.options",
    "FamilyOptions": "library.options",
    "FamilyUsage": "model.usage",
    "Filter": "client.filter_text",
    "RegionDescription": "library.table",
    "RowChanges": "library.row_changes",
    "Table": "library.table",
}
"""The modules of the public classes that are not in hbtable.errors."""


def open(
    path: "str | os.PathLike[str]",
    *,
    durability: Literal["sync", "os"] = "sync",
    read_only: bool = False,
    config: "Mapping[str, str | int | float | bool] | None" = None,
    wait: float = 0.0,
) -> "EmbeddedDatabase":
    """Opens, or makes, the database in folder `path`, served by a cluster of one inside this process.

    `durability` "sync": what is acknowledged is on the disk. "os": it is in the operating system's hands, which is much
    faster, survives the death of this process, and may lose the last seconds when the machine crashes.

    `read_only`: nothing in the folder is made or changed, so it may be one that this process may only read, and any
    number of processes may have it open in this way. What the last process had only in its log is read into memory.
    Every change is refused (InvalidRequest).

    `config`: keys of a server's configuration (`hbtable config` lists them) by `section.key`, for example
    {"cache.block_cache_bytes": "256 MiB", "tablet.memtable_bytes": 64 << 20}, of the sections log, tablet, maintenance,
    cache, master, garbage, normalizer and disk. Neither files nor the environment are read. InvalidConfiguration.

    `path` ":memory:": a new and empty database in the memory of this process, which ends with close(). Each open()
    makes another one.

    What this process has open already is opened once more, with the same settings, by another handle: each is used and
    closed by itself, and the last one that is closed, or that nobody refers to any more, closes the database.

    `wait`: so many seconds at most it waits for somebody else to let go of the folder, as for a worker of a web server
    that a new one replaces. By default it does not wait.

    AlreadyExists names the process that holds the folder, or the settings with which this one has it; UnsupportedFormat
    when a newer hbtable wrote it.
    """
    # By name: the packages below import this one, and must not seem to import launch.
    database: EmbeddedDatabase = import_module("hbtable.launch.embedded").open_database(
        path, durability, read_only, config, wait
    )
    return database


def connect(
    host: str | None = "localhost",
    port: int | None = 9090,
    timeout: int | None = None,
    autoconnect: bool = True,
    table_prefix: str | bytes | None = None,
    table_prefix_separator: str | bytes = b"_",
    compat: Literal["0.90", "0.92", "0.94", "0.96", "0.98"] = "0.98",
    transport: Literal["buffered", "framed"] = "buffered",
    protocol: Literal["binary", "compact"] = "binary",
    *,
    tls: bool = False,
    ca: str = "",
    certificate: str = "",
    user: str = "",
    secret: str = "",
    plain_text: bool = False,
    route: bool = False,
    folder: "str | os.PathLike[str] | None" = None,
) -> "ConnectedDatabase":
    """Connects to an hbtable server, and gives what open() gives: the tables are the server's.

    The arguments are happybase's: `timeout` is in milliseconds, for each wait; `autoconnect` False leaves connecting to
    the first call; a `table_prefix` stands before the names of all tables. `compat`, `transport` and `protocol` may be
    given and change nothing.

    Beyond happybase: `tls`; `ca`, a PEM file of the CA that signed the server's certificate (without it, the CAs of
    this machine), and `certificate`, one of the client's own certificate and key, which both mean TLS as well; `user`,
    who logs in, and `secret`, the file with that user's password or token. Without TLS the secret is sent to this
    machine alone, and with `plain_text` to others as well, which whoever is on the way can read. `route`: calls go to
    the server that has the row, each over a connection of its own, and when the first server is gone another one takes
    its place; for clusters, whose servers this machine has to reach. `folder`, instead of host and port: the data
    folder that another process of this user has open, and shares (EmbeddedDatabase.share).

    Unavailable when no server answers.
    """
    database: ConnectedDatabase = import_module("hbtable.launch.connected").connect_database(
        host,
        port,
        timeout,
        autoconnect,
        table_prefix,
        table_prefix_separator,
        {"compat": compat, "transport": transport, "protocol": protocol},
        {
            "tls": tls,
            "ca": ca,
            "certificate": certificate,
            "user": user,
            "secret": secret,
            "plain_text": plain_text,
        },
        route,
        folder,
    )
    return database


if not TYPE_CHECKING:  # who reads types is to see that a name is not there

    def __getattr__(name: str) -> object:
        """The public errors and classes, with their first use."""
        if name == "errors":  # `hbtable.errors.TableNotFound`, for who has imported hbtable alone
            return import_module("hbtable.errors")
        if name in _MODULES:
            return getattr(import_module(f"hbtable.{_MODULES[name]}"), name)
        if name in __all__:
            # The attribute, once it is there: at the interpreter's end nothing can be imported any more.
            return getattr(globals().get("errors") or import_module("hbtable.errors"), name)
        raise AttributeError(f"module 'hbtable' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

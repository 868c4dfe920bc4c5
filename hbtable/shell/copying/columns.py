"""Names as the servers of a copy have them."""


def split_column(column: bytes) -> tuple[bytes, bytes]:
    """Family and qualifier."""
    family, _, qualifier = column.partition(b":")
    return family, qualifier


def namespace_of(table: bytes) -> bytes:
    """b"" for the default one."""
    namespace, colon, _ = table.partition(b":")
    return namespace if colon else b""


def hidden(table: bytes) -> bool:
    """Lists of tables leave it out, and hbtable does not say that it exists: it is in the namespace of the system's."""
    return namespace_of(table) == b"hbase"

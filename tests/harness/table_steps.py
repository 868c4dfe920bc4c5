"""Steps of generated programs that change the table `t`, each a kind and its arguments."""

from typing import Any

import hbtable


def change(db: hbtable.EmbeddedDatabase, step: Any) -> None:
    kind, *rest = step
    table = db.table("t")
    if kind == "put":
        table.put(rest[0], rest[1], timestamp=rest[2])
    elif kind == "delete":
        table.delete(rest[0], rest[1])
    elif kind == "delete rows":
        table.delete_range(row_prefix=rest[0])
    elif kind == "flush":
        db.flush_table("t")
    elif kind == "compact":
        db.compact_table("t", major=True)
    else:
        split(db, rest[0])


def split(db: hbtable.EmbeddedDatabase, row: bytes) -> None:
    try:
        db.split_table("t", row)
    except hbtable.InvalidRequest:  # at the first row of a tablet
        return

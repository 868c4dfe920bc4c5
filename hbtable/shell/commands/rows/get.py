"""get 't', 'r' [, column..., {options}]: the cells of one row."""

from hbtable.hbase.admin.structs import AdminRow
from hbtable.shell.answers.cells import cell_text, column_text, record
from hbtable.shell.arguments.names import table_of
from hbtable.shell.arguments.options import get_options
from hbtable.shell.context import Context, row_of
from hbtable.shell.language.literals import Value


def get(context: Context, arguments: list[Value]) -> Value:
    table, row = table_of(arguments[0]), row_of(arguments[1])
    out = context.out
    out.begin(("COLUMN", "CELL"))
    read, showing = get_options(arguments[2:])
    rows = context.on_table(table, "adminGet", row, read)
    count = 0
    for found in rows if isinstance(rows, list) else []:
        if isinstance(found, AdminRow):
            count += 1
            for cell in found.cells or ():
                extra = record(row, cell) if out.wants_records else None
                out.row((column_text(cell, showing), cell_text(cell, showing)), extra)
    out.end(count)
    return None

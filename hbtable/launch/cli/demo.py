"""`hbtable demo`: a server over a temporary folder, with the Webtable in it and words about what to try."""

from collections.abc import Iterable
from typing import Final

from hbtable.launch.cli.webtable import HOST, cells
from hbtable.launch.config.sections import read_configuration
from hbtable.launch.serve import SingleServer, run
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.runtime.processes.temporary_folder import temporary_folder
from hbtable.switches import switches

TABLE: Final = b"webtable"

Cells = Iterable[tuple[bytes, dict[bytes, bytes]]]

TRY: Final = """\
{pages} pages and {links} links of the Python library are in table webtable ({seconds:.1f} s).
Rows are reversed host names; contents: is the page, language: its language, anchor:ROW the text of a link from ROW.
HBase Thrift1 on 127.0.0.1:{port}; the folder is temporary, and gone when you stop this with Ctrl-C.

    import happybase                                  # pip install happybase
    table = happybase.Connection("127.0.0.1", {port}).table("webtable")

    table.row(b"{host}/library/json.html", columns=[b"anchor"])          # who links to json?
    [key for key, _ in table.scan(row_prefix=b"{host}/library/json")]    # pages next to each other
    len(list(table.scan(columns=[b"language"])))                              # one small family, not the pages
    [key for key, _ in table.scan(columns=[b"contents"], filter=b"ValueFilter(=, 'substring:coroutine')")]
    list(table.scan(columns=[b"anchor"], filter=b"ColumnPrefixFilter('{host}/library/os')"))   # what os links to
"""


@switches
def run_demo(port: int, stop: bool) -> int:
    """Serves the Webtable until a signal; with `stop` only loads it. The exit code."""
    with temporary_folder("hbtable-demo-") as (folder, _):  # the server locks the data folder itself
        configuration = read_configuration(None, {}, ("log.durability=os",))
        webtable = list(cells())  # before there is a server, which a second of work in one piece would hold up

        def ready(server: SingleServer) -> None:
            print(load(server, webtable), flush=True)  # noqa: T201 -- the demo's whole point
            if stop:
                server.ask_to_stop()

        return run(configuration, str(folder / "data"), None, port, ready)


@switches
def load(server: SingleServer, webtable: Cells) -> str:
    """Makes and fills the table; the text to show."""
    client = server.cluster.client
    families = (
        FamilySchema(b"contents", max_versions=3, compression="SNAPPY"),
        FamilySchema(b"anchor", max_versions=1),
        FamilySchema(b"language", max_versions=1, in_memory=True),
    )
    begin = server.runtime.clock_seconds()
    client.admin.create_table(TableSchema(TABLE, {family.name: family for family in families}))
    pages = links = 0
    with client.rows(TABLE).batch(batch_size=100) as batch:
        for row, columns in webtable:
            batch.put(row, columns)
            if b"contents:" in columns:
                pages += 1
            else:
                links += 1
    seconds = server.runtime.clock_seconds() - begin
    return TRY.format(pages=pages, links=links, seconds=seconds, port=server.gateway.port, host=HOST)

"""The paper's Webtable (section 2): pages by reversed host, with who links to them and the language they are in.

    webtable.py create                          makes the table
    webtable.py crawl FOLDER                    puts the pages FOLDER/HOST/PATH.html, as `wget --recursive` leaves them
    webtable.py invert [--on dask]              finds for each page who links to it, by MapReduce
    webtable.py show com.example/index.html     prints the versions of a page, its language and its anchors

Each takes --port, of an hbtable server on this machine.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin, urlsplit

import hbtable
from hbtable import mapreduce

FAMILIES: dict[str, hbtable.FamilyOptions] = {
    "contents": {"max_versions": 3, "compression": "SNAPPY"},
    "anchor": {"max_versions": 1, "locality_group": "links"},
    # small and read often: in files of its own, whose blocks stay in the cache
    "language": {"max_versions": 1, "locality_group": "metadata", "in_memory": True},
}


def row_of(url: str) -> bytes:
    """`com.example.www/index.html`: the pages of a domain lie next to each other."""
    parts = urlsplit(url)
    path = parts.path or "/"
    host = ".".join(reversed((parts.hostname or "").split(".")))
    return f"{host}{path}{'index.html' if path.endswith('/') else ''}".encode()


def url_of(row: bytes) -> str:
    host, _, path = row.decode().partition("/")
    return f"http://{'.'.join(reversed(host.split('.')))}/{path}"


class Page(HTMLParser):
    """Finds the language of a page, and its links with their text."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.language, self.links, self._open = "und", list[list[str]](), False
        self.feed(html.decode(errors="replace"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "html":
            self.language = given.get("lang") or self.language
        elif tag == "a" and given.get("href"):
            self.links.append([given["href"] or "", ""])
            self._open = True

    def handle_data(self, data: str) -> None:
        if self._open:
            self.links[-1][1] += data

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "a"


def crawl(table: hbtable.Table, folder: Path) -> int:
    """Puts each page with its language, atomically; how many. A page that was there before gets one version more."""
    files = sorted(folder.glob("*/**/*.html"))
    with table.batch(batch_size=100) as batch:
        for file in files:
            html = file.read_bytes()
            row = row_of(f"http://{file.relative_to(folder).as_posix()}")
            batch.put(row, {b"contents:": html, b"language:": Page(html).language.encode()})
    return len(files)


def links(row: bytes, columns: dict[bytes, bytes]) -> Iterable[tuple[bytes, tuple[bytes, bytes]]]:
    """Map: a page into (the page it links to, (itself, the link's text)). Of several links to one page the first."""
    found: dict[bytes, tuple[bytes, bytes]] = {}
    for href, text in Page(columns[b"contents:"]).links:
        url = urljoin(url_of(row), href)
        if url.startswith(("http://", "https://")):
            found.setdefault(row_of(url), (row, " ".join(text.split()).encode()))
    mapreduce.count("links", len(found))
    return found.items()


def anchors(target: bytes, sources: Iterator[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, dict[bytes, bytes]]]:
    """Reduce: a page and all that link to it into its row."""
    yield target, {b"anchor:" + source: text for source, text in sources}


def invert(table: hbtable.Table, on: Literal["processes", "dask"] = "processes") -> mapreduce.JobResult:
    """Writes the anchors of all pages as of now, also of pages that nobody has crawled, and removes what older runs
    wrote and this one did not. Run again, it leaves the same."""
    result = mapreduce.run(table, links, anchors, table, columns=["contents:"], on=on)
    with table.batch(timestamp=result.timestamp - 1, batch_size=1000) as batch:
        for row, old in table.scan(columns=["anchor"], time_range=(None, result.timestamp)):
            batch.delete(row, list(old))  # up to the batch's time: what this run wrote stays
    return result


def show(table: hbtable.Table, row: str) -> None:
    for html, time in table.cells(row, "contents:", include_timestamp=True):
        print(f"contents: of {time}, {len(html)} bytes")
    for column, value in sorted(table.row(row, ["language", "anchor"]).items()):
        print(f"{column.decode()} = {value.decode()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("create", "crawl", "invert", "show"))
    parser.add_argument("argument", nargs="?", default=".", help="a folder, or a row")
    parser.add_argument("--port", type=int, default=9090, help="of an hbtable server on this machine")
    parser.add_argument("--on", choices=("processes", "dask"), default="processes", help="what runs the tasks")
    given = parser.parse_args()
    with hbtable.connect("127.0.0.1", given.port) as db:
        table = db.table("webtable")
        if given.command == "create":
            db.create_table("webtable", FAMILIES)
        elif given.command == "crawl":
            print(f"{crawl(table, Path(given.argument))} pages")
        elif given.command == "invert":
            counters = invert(table, given.on).counters
            print(f"{counters.get('links', 0)} links of {counters['map input']} pages to {counters['output']}")
        else:
            show(table, given.argument)


if __name__ == "__main__":  # processes that run tasks import this file
    try:
        main()
    except hbtable.HbtableError as error:
        sys.exit(f"webtable.py: {error}")

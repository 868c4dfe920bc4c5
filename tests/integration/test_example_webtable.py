"""examples/webtable beside plain Python over a happybase scan."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import hbtable
from tests.harness.commands import run_example
from tests.harness.tiers import long_marks
from tests.harness.warm_server import WarmServer

Columns = dict[bytes, bytes]
PAGES = 60
_LINK = re.compile(rb"<a href='http://(\w+)\.(\w+)\.test/(\w+\.html)'>([^<]*)</a>")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WarmServer]:
    with WarmServer(tmp_path / "data", ["log.durability=os"]) as server:
        yield server


def host(number: int) -> str:
    return f"h{number % 7}.site{number % 3}.test"


def write_pages(folder: Path, step: int) -> None:
    """Each page links to four others, some of them not there, twice to one of these, and to what is no page."""
    for number in range(PAGES):
        targets = [number * step % 80, (number + step) % 80, (number + step) % 80, number % 5, number]
        links = "".join(
            f"<a href='http://{host(to)}/p{to}.html'>{number} to {to} ({i})</a>\n" for i, to in enumerate(targets)
        )
        language = f" lang='{('en', 'de', 'fr')[number % 3]}'" if number % 4 else ""
        file = folder / host(number) / f"p{number}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<html{language}><a href='mailto:a@b.test'>mail</a><a name='x'>no link</a>{links}</html>")


def rows(server: WarmServer) -> dict[bytes, Columns]:
    connection = server.connect()
    try:
        return dict(connection.table("webtable").scan())
    finally:
        connection.close()


def expected_anchors(found: dict[bytes, Columns]) -> dict[bytes, Columns]:
    expected: defaultdict[bytes, Columns] = defaultdict(dict)
    for row, columns in found.items():
        for name, site, path, text in _LINK.findall(columns.get(b"contents:", b"")):
            expected[b"test.%b.%b/%b" % (site, name, path)].setdefault(b"anchor:" + row, text)
    return dict(expected)


def anchors(found: dict[bytes, Columns]) -> dict[bytes, Columns]:
    of = {}
    for row, columns in found.items():
        of[row] = {name: text for name, text in columns.items() if name.startswith(b"anchor:")}
    return {row: columns for row, columns in of.items() if columns}


@pytest.mark.parametrize(
    "on",
    [
        pytest.param("processes", marks=long_marks("webtable in processes")),
        pytest.param("dask", marks=long_marks("webtable on Dask")),
    ],
)
def test_links_are_inverted_as_plain_python_does_it(server: WarmServer, tmp_path: Path, on: str) -> None:
    port = ["--port", str(server.port)]
    run_example("webtable", "create", *port)
    for step in (3, 11):  # the second time other links are there, so anchors of the first are gone
        write_pages(tmp_path / "crawl", step)
        assert run_example("webtable", "crawl", str(tmp_path / "crawl"), *port) == f"{PAGES} pages\n"
        if step == 3:
            with hbtable.connect("127.0.0.1", server.port) as db:
                assert db.split_table("webtable", b"test.site1")
        told = run_example("webtable", "invert", "--on", on, *port)
        found = rows(server)
        expected = expected_anchors(found)
        assert anchors(found) == expected
        assert told == f"{sum(map(len, expected.values()))} links of {PAGES} pages to {len(expected)}\n"
        assert any(b"contents:" not in columns for columns in found.values())
    assert run_example("webtable", "invert", "--on", on, *port) == told
    assert anchors(rows(server)) == expected

    pages = [columns for columns in found.values() if b"contents:" in columns]
    said = [re.match(rb"<html lang='(\w+)'", columns[b"contents:"]) for columns in pages]
    assert [columns[b"language:"] for columns in pages] == [one[1] if one else b"und" for one in said]
    shown = run_example("webtable", "show", "test.site1.h1/p1.html", *port).splitlines()
    assert len([line for line in shown if line.startswith("contents: of ")]) == 2
    of_one = {name: value for name, value in rows(server)[b"test.site1.h1/p1.html"].items() if name != b"contents:"}
    assert shown[2:] == [f"{name.decode()} = {value.decode()}" for name, value in sorted(of_one.items())]

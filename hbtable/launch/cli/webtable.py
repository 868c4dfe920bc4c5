"""The paper's example (section 2, figure 1): a Webtable of real pages, rows named by reversed host.

The pages are those that pydoc writes of the standard library, there on every machine. Families: `contents:` holds the
page, `language:` its language, `anchor:<referring row>` the text of each link that points at it.
"""

import importlib
import pydoc
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

HOST: Final = "org.python.docs"

MODULES: Final = """
abc argparse ast base64 bisect calendar codecs collections contextlib copy csv dataclasses datetime difflib enum
fnmatch functools gzip hashlib heapq html html.parser http io itertools json json.decoder json.encoder logging
math operator os os.path pathlib pickle queue random re shutil socket string struct tempfile textwrap threading
time types urllib urllib.parse uuid weakref zipfile zlib
"""


class _Links(HTMLParser):
    """Collects (module, text) of the links to other pages."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._target: str | None = None
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            target = dict(attrs).get("href") or ""
            page = target.partition("#")[0]
            self._target = page[: -len(".html")] if page.endswith(".html") and "/" not in page else None
            self._text = []

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._target:
            self.found.append((self._target, "".join(self._text).strip()))
            self._target = None


def row_key(module: str) -> bytes:
    """`org.python.docs/library/json.decoder.html`: pages of one domain lie next to each other."""
    return f"{HOST}/library/{module}.html".encode()


def cells() -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
    """(row, cells) to put: each page once, then each page's links as anchors of the pages they point at."""
    writer = pydoc.HTMLDoc()
    pages: dict[str, str] = {}
    for name in MODULES.split():
        module = importlib.import_module(name)
        pages[name] = writer.page(name, writer.document(module, name))
    for name, page in pages.items():
        yield row_key(name), {b"contents:": page.encode("utf-8", "replace"), b"language:": b"EN"}
    for name, page in pages.items():
        links = _Links()
        links.feed(page)
        for target, text in links.found:
            if target in pages and target != name:
                yield row_key(target), {b"anchor:" + row_key(name): text.encode()}

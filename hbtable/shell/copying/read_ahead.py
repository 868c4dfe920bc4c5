"""A page is read while what came before it is used: a copy waits for servers most of its time."""

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Page = TypeVar("Page")


def read_ahead(pages: Iterable[Page]) -> Generator[Page, None, None]:
    """The pages, of which a thread reads the next one. Whoever leaves before the end closes this: it waits for the page
    under way, so that the connection is free behind it."""
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as reader:
        source = iter(pages)
        following = reader.submit(next, source, None)
        while (page := following.result()) is not None:
            following = reader.submit(next, source, None)
            yield page

"""examples/personalized_search beside plain Python over a happybase scan. Its README is run with users and a quota."""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.commands import run_example
from tests.harness.tiers import long_marks
from tests.harness.warm_server import WarmServer

WORDS = ["red", "tea", "of", "Zürich", "cats", "jaguar", "speed", "map", "news", "price", "blue", "green", "black"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WarmServer]:
    with WarmServer(tmp_path / "data", ["log.durability=os"]) as server:
        yield server


def fill(server: WarmServer) -> None:
    """As `record` does it, 20 users, whose actions are of the last days."""
    chance, now = random.Random(3), time.time_ns() // 1_000_000
    with closing(server.connect()) as connection:
        table = connection.table("users")
        for number in range(400):
            millis = now - chance.randrange(10**8)
            kind, words = chance.choice(["query", "click"]), chance.sample(WORDS, 3)
            what = " ".join(words) if kind == "query" else f"https://{words[0]}.test/{words[1]}/{words[2]}?{number}"
            table.put(f"user{number % 20:02}".encode(), {f"{kind}:{millis:013}".encode(): what.encode()}, millis)


def expected_profile(columns: dict[bytes, bytes]) -> list[tuple[str, int]]:
    weights: Counter[str] = Counter()
    for name, what in columns.items():
        kind, text = name.split(b":")[0], what.decode().split("//")[-1]
        if kind in (b"query", b"click"):
            for word in re.split(r"[^\w]+", text.lower()):
                weights[word] += (len(word) > 2) * (3 if kind == b"click" else 1)
    return sorted(((word, weight) for word, weight in weights.items() if weight), key=lambda one: (-one[1], one[0]))[
        :10
    ]


@pytest.mark.parametrize(
    "on",
    [
        pytest.param("processes", marks=long_marks("personalized search in processes")),
        pytest.param("dask", marks=long_marks("personalized search on Dask")),
    ],
)
def test_profiles_are_those_of_plain_python(server: WarmServer, on: str) -> None:
    port = ["--port", str(server.port)]
    name = "personalized_search"
    run_example(name, "create", *port)
    fill(server)
    run_example(name, "record", "user07", "query", "Zebra zebra tea", *port)
    run_example(name, "record", "only", "click", "https://cats.test/", *port)
    assert run_example(name, "profile", "--on", on, *port) == "402 actions of 21 users\n"
    with closing(server.connect()) as connection:
        found = dict(connection.table("users").scan())
        timed = connection.table("users").row(b"user07", columns=[b"query", b"click"], include_timestamp=True)
    assert len(found) == 21
    for columns in found.values():
        assert list(json.loads(columns[b"profile:words"]).items()) == expected_profile(columns)
    best = expected_profile(found[b"user07"])[0][0]
    assert run_example(name, "rank", "user07", "none of all", f"{best} it is", *port).split("\n")[0] == f"{best} it is"

    told = run_example(name, "history", "user07", *port).splitlines()
    actions = sorted((int(column[6:]), column[:5] + b" " + what) for column, (what, _) in timed.items())
    assert told == [what.decode() for _, what in reversed(actions)]
    assert told[0] == "query Zebra zebra tea"
    newest, stored = max((stored, column) for column, (_, stored) in timed.items())
    assert stored == b"query:%013d" % newest  # the cell has the action's time

    run_example(name, "forget", "user07", *port)
    assert run_example(name, "history", "user07", *port) == ""

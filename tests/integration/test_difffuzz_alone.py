"""The campaign beside a real HBase, here without one: two hbtables differ in nothing, and one with a planted bug in
what it was told, in few calls. `make difffuzz` is the campaign itself."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns.difffuzz.alphabet import LONG_MAX, PROFILES
from tests.campaigns.difffuzz.hunt import Hunt, Limits
from tests.campaigns.difffuzz.own_server import DEFINES, OwnServer
from tests.campaigns.difffuzz.profiles import random_program
from tests.campaigns.difffuzz.running import Runner
from tests.harness.tiers import long_test
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


class InHBasesPlace(OwnServer):
    """hbtable, asked what the campaign asks HBase alone."""

    def dump(self, name: str, before: int = 0) -> list[Any]:
        return []


class WithoutDeletes(OwnServer):
    """Acknowledges deletes of columns, and forgets them."""

    def call(self, method: str, arguments: dict[str, Any], handles: dict[int, Any]) -> dict[str, Any]:
        if method == "deleteAllTs":
            return {"ok": None}
        return super().call(method, arguments, handles)


class WrongOnceFlushed(InHBasesPlace):
    """Makes a cell out of nothing when it flushes."""

    def flush(self, name: str) -> None:
        super().flush(name)
        descriptors = super().call("getColumnDescriptors", {"tableName": name}, {})["ok"]
        mutations = [{"column": f"{family.rstrip(':')}:made", "value": "v"} for family in descriptors]
        super().call("mutateRowTs", {"tableName": name, "row": "a", "mutations": mutations, "timestamp": 1}, {})


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    folder: Path = tmp_path_factory.mktemp("difffuzz")
    with WarmServer(folder / "one", DEFINES) as one, WarmServer(folder / "other", DEFINES) as other:
        yield one.port, other.port


def _hunt(
    ports: tuple[int, int],
    kind: type[OwnServer],
    seed: int,
    calls: int,
    profiles: list[str],
    in_hbases_place: type[InHBasesPlace] = InHBasesPlace,
) -> Hunt:
    with ExitStack() as ended:
        sides = in_hbases_place("127.0.0.1", ports[0]), kind("127.0.0.1", ports[1])
        for side in sides:
            ended.callback(side.close)
        hunt = Hunt(Runner(*sides, f"alone{seed}_"), seed, Limits(calls, lines=60, minimise_seconds=150), profiles, ())
        hunt.run()
        return hunt


@long_test("random calls to two servers")
def test_two_hbtables_answer_alike(ports: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    profiles = [
        "memory",
        "filters",
        "families",
        "newversions",
        "keepdeleted",
        "scanners",
        "mixed",
        "concurrent",
        "admin",
    ]
    hunt = _hunt(ports, OwnServer, 1, 1500, profiles)
    assert hunt.calls >= 1500
    assert not hunt.found, capsys.readouterr().out[-4000:]


@long_test("a bug that random calls find")
def test_a_planted_bug_is_found_and_made_small(ports: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    hunt = _hunt(ports, WithoutDeletes, 2, 500, ["memory"])
    out = capsys.readouterr().out
    assert hunt.found, out[-4000:]
    smallest = out.split("\n== ")[1].splitlines()
    calls = [line.split()[0] for line in smallest if line.startswith("   ")]
    assert "deleteAllTs" in calls, smallest
    assert len(calls) <= 12, smallest  # the table, a few calls, both answers


@long_test("random calls and flushes of one server")
def test_what_a_flush_of_hbase_alone_changes_is_counted_and_what_one_of_hbtable_changes_is_found(
    ports: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    hunt = _hunt(ports, OwnServer, 3, 600, ["mixed"], WrongOnceFlushed)
    out = capsys.readouterr().out
    assert not hunt.found, out[-4000:]
    assert "flush: HBase answers as hbtable does until it has flushed" in out
    assert _hunt(ports, WrongOnceFlushed, 4, 600, ["mixed"]).found, capsys.readouterr().out[-4000:]


@pytest.mark.parametrize("seed", range(60))
def test_no_cell_of_new_versions_is_in_the_empty_qualifier(seed: int) -> None:
    """HBase leaves it when its row is deleted, which is known: KNOWN, "empty-column-of-new-versions"."""
    for line in random_program(f"7/{seed}", 100, "newversions")["lines"]:
        asked = line["a"]
        increments = asked.get("increments") or [asked.get("increment", asked)]
        written = [one["column"] for one in increments] if "ncrement" in line["m"] else []
        written += asked["append"]["columns"] if "append" in asked else []
        for batch in asked.get("rowBatches") or [asked]:
            written += [one["column"] for one in batch.get("mutations", ()) if not one.get("isDelete")]
        assert all(column.partition(":")[2] for column in written), line


@pytest.mark.parametrize("profile", PROFILES)
def test_a_program_is_that_of_its_seed(profile: str) -> None:
    assert random_program("7/1", 100, profile) == random_program("7/1", 100, profile)
    assert random_program("7/1", 100, profile) != random_program("7/2", 100, profile)


@pytest.mark.parametrize("profile", ["versions", "admin", "families"])
def test_where_few_versions_are_kept_and_flushed_no_delete_shows_when_the_others_go(profile: str) -> None:
    for seed in range(60):
        program = random_program(f"7/{seed}", 100, profile)
        made = [family for table in program["tables"] for family in table["families"]]
        made += [line["a"]["family"] for line in program["lines"] if line["m"] in ("$add", "$modify")]
        single = [line for line in program["lines"] if line["m"] == "$delete"]
        assert not single or min(family["versions"] for family in made) >= 1000, seed


@pytest.mark.parametrize("profile", ["memory", "ttl", "deep"])
def test_no_put_with_a_time_to_live_has_the_time_of_another_of_its_cell(profile: str) -> None:
    """HBase shows the older one again, which is known: KNOWN, "ttl-same-time"."""
    for seed in range(60):
        written: dict[tuple[str, str, str], bool] = {}
        for line in random_program(f"7/{seed}", 100, profile)["lines"]:
            asked = line["a"]
            mortal = "_ttl" in (asked.get("attributes") or {})
            if line["m"] not in ("mutateRowTs", "mutateRowsTs") or asked["timestamp"] in (-1, LONG_MAX):
                continue
            of_this_call = set()
            for batch in asked.get("rowBatches") or [asked]:
                for mutation in batch["mutations"]:
                    if not mutation.get("isDelete"):
                        of_this_call.add((batch["row"], mutation["column"], repr(asked["timestamp"])))
            assert not any(mortal or written[cell] for cell in of_this_call & written.keys()), line
            written.update(dict.fromkeys(of_this_call, mortal))

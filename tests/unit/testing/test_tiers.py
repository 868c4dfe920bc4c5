"""What runs of CI take in turns: all of it over as many seeds, none of them much longer than another."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.harness import fresh_seed, tiers
from tests.harness.runs import run_again
from tests.harness.tiers import LONG, LONG_ALONE, LONG_ON_CLUSTERS, SHIFTS, crossed, one_in, parts, taking_turns

ROOT = Path(__file__).resolve().parents[3]
SEED = "SEED"


def taken(values: list[object], turns: int, patch: pytest.MonkeyPatch, seed: int) -> list[object]:
    patch.setenv(SEED, str(seed))
    return [one.values for one in taking_turns(values, turns) if pytest.mark.verify in one.marks]


@pytest.mark.parametrize(("count", "turns"), [(1, 8), (4, 4), (9, 3), (12, 8), (61, 8)])
def test_over_as_many_seeds_each_value_is_taken_once_and_each_seed_takes_as_many(
    count: int, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TURNS", raising=False)
    of_seeds = [taken(list(range(count)), turns, monkeypatch, seed) for seed in range(1000, 1000 + turns)]
    assert sorted(value for values in of_seeds for (value,) in values) == list(range(count))
    assert {len(values) for values in of_seeds} <= {count // turns, -(-count // turns)}


def test_verify_all_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNS", "all")
    assert len(taken(list(range(12)), 8, monkeypatch, 1)) == 12
    assert fresh_seed.slice_of(30) == 30
    monkeypatch.delenv("TURNS")
    assert fresh_seed.slice_of(30) == 8


def test_a_run_takes_each_value_with_one_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURNS", raising=False)
    cells = crossed(["a", pytest.param("b", marks=pytest.mark.java, id="bee"), "c"], [1, 2])
    for seed in (7, 8):
        found = taken(cells, 2, monkeypatch, seed)
        assert sorted(value for value, _ in found) == ["a", "b", "c"]
        assert {other for _, other in found} == {1, 2}
    marked = [one for one in taking_turns(cells, 2) if one.values[0] == "b"]
    assert all(pytest.mark.java in one.marks and one.id == "bee" for one in marked)


def test_of_a_sweep_make_test_takes_one_in_four_and_as_many_runs_the_others_once_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TURNS", raising=False)
    found: Counter[object] = Counter()
    for seed in range(500, 504):
        monkeypatch.setenv(SEED, str(seed))
        values = one_in(4, range(18))
        assert values[::4] == [0, 4, 8, 12, 16]
        others = [one for place, one in enumerate(values) if place % 4]
        assert all(pytest.mark.turns in one.marks for one in others)
        found.update(value for one in others for value in one.values if pytest.mark.verify in one.marks)
    assert found == Counter(number for number in range(18) if number % 4)


@pytest.mark.parametrize("table", [LONG, LONG_ON_CLUSTERS], ids=["tests", "cluster-tests"])
def test_no_seed_is_much_longer_than_another(table: dict[str, int]) -> None:
    seconds = Counter[int]()
    for name, part in parts().items():
        seconds[part] += table.get(name, 0)
    assert len(seconds) == SHIFTS
    assert max(seconds.values()) <= 1.2 * min(seconds.values())


FOLDERS = ("tests", "cluster-tests", "compat-tests")


def test_each_long_test_is_there() -> None:
    texts = [path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")]
    named = Counter(name for text in texts for name in re.findall(r'long_(?:test|marks)\("([^"]+)"\)', text))
    plans = {name for name in LONG if name.startswith("plans for a million tablets: ")}
    assert named.keys() | plans == LONG.keys() | LONG_ON_CLUSTERS.keys() | LONG_ALONE.keys()
    assert set(named.values()) == {1}


def test_the_command_that_repeats_a_test_has_what_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ((SEED, "17"), ("PYTHONHASHSEED", "3")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(fresh_seed, "_fresh_examples", True)
    assert run_again("tests/a.py::test_b[it's c]") == (
        """SEED=17 PYTHONHASHSEED=3 .venv/bin/pytest --hypothesis-seed=17 'tests/a.py::test_b[it'"'"'s c]'"""
    )
    assert tiers.generated(40) == 40
    monkeypatch.setattr(fresh_seed, "_fresh_examples", False)
    assert "--hypothesis-seed" not in run_again("tests/a.py::test_b")
    assert tiers.generated(40) == 10

"""A tablet with too much load for its server becomes two of half the load, on two servers, and no more than needed."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from hbtable.errors import HbtableError, SwitchedOff
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.metadata.tablet_history import TabletHistory
from hbtable.model.read import EVERYTHING
from hbtable.model.tablet_event import NOT_SPLIT, SPLIT
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.split import Splitter
from tests.harness.many_servers import Cluster
from tests.harness.tiers import long_test, quick_first

CALL_SECONDS = 0.03
"""Of a server's processor, each call to it."""
IN_A_SECOND = 20
HOT = MaintenanceOptions(hot_split_share=0.4, hot_split_requests=5.0, hot_split_seconds=12.0, split_bytes=0)
YOUNG_SECONDS = 310
"""For so long a new tablet is left alone."""


@pytest.fixture
def told(monkeypatch):
    """The events of tablets, each its kind and its reason."""
    events = []
    monkeypatch.setattr(TabletHistory, "note", lambda self, record, what, server, why="": events.append((what, why)))
    return events


class Loaded:
    """A cluster of three servers with one table of one tablet, which clients ask for rows."""

    def __init__(self, machine, seed, options=HOT, normalizer=None):
        server = replace(machine.options.server, shares_folder=True, maintenance=options)
        self.cluster = Cluster(seed, replace(machine.options, server=server))
        self.cluster.normalizer = normalizer
        self.machine = machine
        self.chance = random.Random(f"load {seed}")

    def run(self, body, schema=None):
        def main():
            self.cluster.start(3)
            for node, _ in self.cluster.servers.values():
                self.measure(node)
            self.cluster.client.admin.create_table(schema or self.machine.schema())
            self.machine.write(self.cluster, range(300))
            self.cluster.runtime.sleep(YOUNG_SECONDS)
            body()
            self.cluster.check_tiling()

        self.cluster.runtime.run(main)

    @staticmethod
    def measure(node):
        data = "read_rows", "mutate", "scan"
        node.runtime.processor_seconds = lambda: CALL_SECONDS * sum(node.calls[name] for name in data)

    def load(self, seconds, row, call=None):
        """`row()` is asked for, so many times in a second; `call(row)` is what is done instead."""
        table = self.cluster.client.table(b"t")
        for _ in range(int(seconds * IN_A_SECOND)):
            key = b"row%06d" % row()
            call(key) if call else table.read_rows([key], EVERYTHING)
            self.cluster.runtime.sleep(1 / IN_A_SECOND)

    def tablets(self):
        return self.cluster.client.admin.tablets(b"t")

    def anywhere(self):
        return self.chance.randrange(300)

    def splits(self):
        return sum(role._maintenance._hot_tablets._splits.value for _, role in self.cluster.servers.values())


def low_rows(chance):
    """A third of the rows has all the load, so that their middle is not the tablet's."""
    return lambda: chance.randrange(100)


@pytest.mark.parametrize("seed", quick_first(range(4), 1))
def test_a_hot_tablet_is_halved_and_two_servers_share_its_load(machine, seed, told):
    loaded = Loaded(machine, 900 + seed)

    def body():
        loaded.load(40, low_rows(loaded.chance))
        found = loaded.tablets()
        assert len(found) == 2
        assert 35 <= int(found[1].range.start[3:]) <= 65, "of rows 0 to 99"
        (why,) = {why for what, why in told if what == SPLIT}
        assert f"was split at {found[1].range.start!r}: its requests, " in why
        assert " of the processor's time" in why
        loaded.cluster.runtime.sleep(30)
        assert len(loaded.cluster.owners()) == 2
        before = {name: Counter(node.calls) for name, (node, _) in loaded.cluster.servers.items()}
        loaded.load(20, low_rows(loaded.chance))
        after = {name: node.calls for name, (node, _) in loaded.cluster.servers.items()}
        asked = [after[name]["read_rows"] - before[name]["read_rows"] for name in before]
        assert max(asked) <= 0.66 * sum(asked)
        assert machine.contents(loaded.cluster) == machine.expected(range(300))

    loaded.run(body)


@long_test("hours of load")
def test_as_much_load_for_hours_splits_no_more_than_it_takes(machine):
    """What is left for each part is below the share: 0.6 of a processor, halved once."""
    loaded = Loaded(machine, 1)

    def body():
        for _ in range(4):
            loaded.load(60, loaded.anywhere)
            loaded.cluster.runtime.sleep(YOUNG_SECONDS)
        assert len(loaded.tablets()) == 2
        assert loaded.splits() == 1

    loaded.run(body)


def in_turns(numbers):
    return iter(numbers).__next__


@pytest.mark.parametrize(
    "rows",
    [
        lambda chance: lambda: 150,
        lambda chance: lambda: 150 if chance.random() < 0.8 else chance.randrange(300),
        lambda chance: in_turns(number // 4 for number in range(2400)),
    ],
    ids=["one row", "mostly one row", "ascending rows"],
)
def test_what_no_split_would_relieve_is_not_split_and_that_is_told_once(machine, rows, told):
    loaded = Loaded(machine, 2)

    def body():
        loaded.load(60, rows(loaded.chance))
        assert len(loaded.tablets()) == 1
        (why,) = [why for what, why in told if what == NOT_SPLIT]
        assert "no row halves them" in why

    loaded.run(body)


@pytest.mark.parametrize(
    ("options", "attributes"),
    [
        (replace(HOT, hot_split_share=0.0), ()),
        (replace(HOT, hot_split_share=0.9), ()),
        (replace(HOT, hot_split_requests=50.0), ()),
        (replace(HOT, hot_split_seconds=200.0), ()),
        (HOT, (("SPLIT_ENABLED", "false"),)),
    ],
    ids=["off", "enough processor", "few requests", "not for long", "the table says no"],
)
def test_below_the_bounds_nothing_is_split(machine, options, attributes):
    loaded = Loaded(machine, 3, options)

    def body():
        loaded.load(60, loaded.anywhere)
        assert len(loaded.tablets()) == 1

    schema = machine.schema()
    loaded.run(body, replace(schema, attributes=attributes))


def test_a_split_that_could_not_be_made_in_time_is_not_made_without_the_load(machine, monkeypatch):
    """It was: days later, when splits were switched on again, at the rows of a load that nobody remembered."""
    loaded = Loaded(machine, 5)
    split, refused, switch = Splitter.split, [], ["off"]

    def toggled(*arguments):
        if switch:
            refused.append(arguments)
            raise SwitchedOff("splits are switched off")
        return split(*arguments)

    monkeypatch.setattr(Splitter, "split", toggled)

    def body():
        loaded.load(40, loaded.anywhere)
        assert refused
        loaded.cluster.runtime.sleep(HOT.hot_split_seconds + 10)
        switch.clear()
        loaded.cluster.runtime.sleep(60)
        assert len(loaded.tablets()) == 1
        loaded.load(40, loaded.anywhere)
        assert len(loaded.tablets()) == 2

    loaded.run(body)


def test_the_normalizer_does_not_undo_it_while_the_load_lasts(machine):
    rules = NormalizerOptions(
        period_seconds=20.0, min_age_seconds=150.0, emptied_age_seconds=150.0, min_tablets=2, busy_requests=5.0
    )  # it takes two minutes until the master knows the load of a new tablet
    loaded = Loaded(machine, 4, normalizer=rules)

    def body():
        loaded.load(40, loaded.anywhere)
        assert len(loaded.tablets()) == 2
        loaded.load(200, loaded.anywhere)
        assert len(loaded.tablets()) == 2
        loaded.cluster.runtime.sleep(300)
        assert len(loaded.tablets()) == 1, "nobody asks any more, and together they are small"

    loaded.run(body, replace(machine.schema(), attributes=(("NORMALIZATION_ENABLED", "true"),)))


@pytest.mark.parametrize("seed", quick_first(range(6), 1, 3))
def test_hot_splits_under_writes_and_deaths_lose_nothing(machine, seed):
    loaded = Loaded(machine, 700 + seed)
    cluster, acknowledged = loaded.cluster, {}

    def write(key):
        acknowledged.pop(key, None)
        try:
            value = b"%d" % loaded.chance.randrange(1 << 30)
            cluster.client.table(b"t").mutate([machine.put(key, value)])
            acknowledged[key] = value
        except HbtableError:
            pass

    def kill():
        for _ in range(3):
            cluster.runtime.sleep(loaded.chance.uniform(5, 15))
            cluster.replace(loaded.chance.choice(["server", "server", "master"]))
            for node, _ in cluster.servers.values():
                loaded.measure(node)

    def body():
        task = cluster.runtime.spawn(kill, name="kill")
        loaded.load(60, loaded.anywhere, write)
        task.join()
        loaded.load(30, loaded.anywhere, write)
        found = machine.contents(cluster)
        assert {key: found[key] for key in acknowledged} == acknowledged
        assert len(found) == 300

    loaded.run(body)

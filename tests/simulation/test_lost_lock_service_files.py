"""Each small file of the lock service in turn is lost, or replaced by an older copy of itself: what was written stays
as it was, new tables and tablets share nothing with old ones, and `hbtable check` says beforehand what is wrong."""

from collections.abc import Iterator

import pytest

from hbtable.errors import Conflict, Corruption, InvalidConfiguration
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.files import DurableFiles
from hbtable.metadata.counters import put_counters_right
from hbtable.metadata.numbers_in_use import in_metadata
from hbtable.tablet.shared import table_folder
from tests.harness.stored_lives import Model, Store, add_table, check_model
from tests.harness.tiers import quick_first
from tests.simulation.conftest import Machine


class History(Store):
    """A store that lived four times; `older` are the states of the lock service's files at the end of each life."""

    def __init__(self) -> None:
        super().__init__()
        self.model: Model = {}
        self.older: list[dict[str, bytes]] = []
        for number in range(4):
            self.life(lambda cluster, number=number: self._live(cluster, number), clean=number != 2)
            self.older.append(self.files())

    def _live(self, cluster: EmbeddedCluster, number: int) -> None:
        check_model(cluster, self.model)
        name = b"t%d" % number
        # More tablets than are numbered at once, so that an older copy of the counter is behind.
        add_table(cluster, self.model, name, [b"row%06d" % row for row in range(1, 80)] if number == 1 else [])
        cluster.client.admin.flush(name)
        add_table(cluster, self.model, b"unflushed%d" % number, [])
        if number:
            dropped = b"t%d" % (number - 1)
            if number != 2:
                cluster.client.admin.disable_table(dropped)
                cluster.client.admin.delete_table(dropped)
                del self.model[dropped]


@pytest.fixture(scope="module")
def history() -> History:
    return History()


ROOT = "lockservice/files/root-tablet"
"""Lost, or an old one, it is refused at the start: METADATA would be read as it was then."""

PARTS = 4

HARMLESS = {
    "lockservice/epochs": "locks and sessions end with the process, so none of an earlier one is left",
    "lockservice/files/servers": "the file of a dead server: nobody holds its lock, and it is expired once more",
}
"""Older copies of these change nothing, and there is nothing to report."""


def variants(history: History) -> Iterator[tuple[str, str, bytes | None]]:
    """(path, what became of it, its older content if that is it)."""
    now = history.files()
    for path in now:
        yield path, "removed", None
    for life, older in enumerate(history.older):
        for path, content in older.items():
            if content != now.get(path):
                yield path, f"as it was after life {life}", content


def spoilt(history: History, path: str, content: bytes | None) -> Store:
    store = history.copy()
    if content is None:
        store.runtime.run(lambda: store.fs.delete(path))
    else:
        store.runtime.run(lambda: store.fs.write_file(path, content))
    return store


def live_on(store: Store, model: Model) -> None:
    """New tables and a split, a collection of garbage, a loss of power, and a look at everything."""

    def use(cluster: EmbeddedCluster) -> None:
        check_model(cluster, model)
        for number in range(3):
            add_table(cluster, model, b"new%d" % number, [b"row000010", b"row000020"])
        assert cluster.client.admin.split(b"new0", b"row000005")
        cluster.master.collect_garbage()
        check_model(cluster, model)

    store.life(use, clean=False)
    store.life(lambda cluster: check_model(cluster, model))


@pytest.mark.parametrize("part", quick_first(range(PARTS), 0, 1))
def test_no_table_shares_anything_after_a_file_was_lost_or_put_back(history: History, part: int) -> None:
    assert not history.damage()
    every = list(variants(history))
    assert len(every) > 10
    tried = 0
    for path, how, content in every[part::PARTS]:
        store = spoilt(history, path, content)
        print(path, how)  # which one it was, should it fail
        if not (content is not None and path.startswith(tuple(HARMLESS))):
            found = store.damage()
            assert len(found) == 1 or path == ROOT, found
            assert path.removeprefix("lockservice/files/").replace(".s", "/") in found[0]
        tried += 1
        if path == ROOT:
            with pytest.raises((Corruption, InvalidConfiguration), match="root-tablet"):
                store.life(lambda cluster: None)
            continue
        live_on(store, {name: dict(rows) for name, rows in history.model.items()})
        assert not store.damage()
    assert tried == len(every[part::PARTS])


def test_all_counters_lost_at_once(history: History) -> None:
    store = history.copy()
    for path in history.files():
        if path.endswith((".stable", ".stablet", "incarnations", "epochs")):
            store.runtime.run(lambda path=path: store.fs.delete(path))
    assert len(store.damage()) == 4
    live_on(store, {name: dict(rows) for name, rows in history.model.items()})


def test_counters_are_put_right_in_the_files_themselves(history: History) -> None:
    """What a repair does without starting anything."""
    store = history.copy()
    counters = [path for path in history.files() if path.endswith((".stable", ".stablet", "incarnations"))]
    assert len(counters) == 3
    now = history.files()
    for path, spoiled in zip(counters, (None, history.older[0][counters[1]], now[counters[2]][:-1]), strict=True):
        if spoiled is None:
            store.runtime.run(lambda path=path: store.fs.delete(path))
        else:
            store.runtime.run(lambda path=path, spoiled=spoiled: store.fs.write_file(path, spoiled))

    in_use = history.copy().life(lambda cluster: in_metadata(cluster.client.catalog))
    files = DurableFiles(store.fs)
    assert len(store.runtime.run(lambda: put_counters_right(files, in_use))) == 3
    assert store.runtime.run(lambda: put_counters_right(files, in_use)) == []
    assert not store.damage()
    live_on(store, {name: dict(rows) for name, rows in history.model.items()})


def test_a_table_id_of_which_files_are_left_is_passed_over() -> None:
    """METADATA knows no such table: it was dropped, say, and its files wait for the collector."""
    store = Store()
    model: Model = {}

    def body(cluster: EmbeddedCluster) -> None:
        add_table(cluster, model, b"a", [])
        assert cluster.client.catalog.read_table(b"a").table_id == 16
        store.fs.write_file(f"{table_folder(17)}/s1-000001.sst", b"")
        store.fs.write_file(f"{table_folder(20)}/s1-000002.sst", b"")
        add_table(cluster, model, b"b", [])
        assert cluster.client.catalog.read_table(b"b").table_id == 21
        check_model(cluster, model)

    store.life(body, clean=False)
    store.runtime.run(lambda: store.fs.delete("lockservice/files/identifiers.stable"))
    [found] = store.damage()
    assert "/identifiers/table is not there and must say 22 at least" in found


def test_a_row_of_another_table_is_not_taken_over() -> None:
    """Should an id come again all the same: nothing is made, and nothing of the other table is touched."""
    store = Store()
    model: Model = {}

    def body(cluster: EmbeddedCluster) -> None:
        add_table(cluster, model, b"a", [b"row000010", b"row000020"])
        new_ids = cluster.master.tables._creation._new_ids
        taken = cluster.client.catalog.read_table(b"a").table_id
        new_ids.table = lambda: taken  # type: ignore[method-assign]
        with pytest.raises(Conflict, match="there are tablets with the table id 16 already"):
            cluster.client.admin.create_table(Machine.schema(b"b"), [b"row000005", b"row000020"])
        store.runtime.sleep(60)
        check_model(cluster, model)
        Machine.write(cluster, range(30), b"new", b"a")
        assert Machine.contents(cluster, b"a") == Machine.expected(range(30), b"new")

    store.life(body)

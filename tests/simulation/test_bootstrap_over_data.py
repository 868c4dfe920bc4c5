"""A folder, or a cluster's file system, that holds data is never taken for a new cluster's, whatever was lost of it."""

import pytest

from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.encoding import tablet_record
from hbtable.errors import InvalidConfiguration
from hbtable.fs.interface import HDFS, LOCAL
from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.bootstrap import refuse_data
from hbtable.metadata.layout import first_root_record
from hbtable.metrics.registry import Registry
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.stored_lives import Model, Store, add_table, check_model


def fill(store: Store, clean: bool, flush: bool) -> Model:
    model: Model = {}

    def body(cluster):
        for name in (b"a", b"b"):
            add_table(cluster, model, name, [b"row000010"])
            if flush:
                cluster.client.admin.flush(name)

    store.life(body, clean=clean)
    return model


def remove(store: Store, *folders: str) -> None:
    def body():
        for path in folders:
            if store.fs.exists(path):
                store.fs.delete(path)
            else:
                store.fs.delete_folder(path)

    store.runtime.run(body)


def put(store: Store, files: dict[str, bytes]) -> None:
    def body():
        for path, content in files.items():
            store.fs.write_file(path, content)

    store.runtime.run(body)


def contents(store: Store) -> dict[str, bytes]:
    return store.runtime.run(lambda: {one.path: store.fs.read_file(one.path) for one in store.fs.list_files("")})


class SharedKind:
    """A memory file system as one of a kind."""

    def __init__(self, memory: MemoryFileSystem, kind: str) -> None:
        self.memory = memory
        self.log_kind = kind

    def __getattr__(self, name: str) -> object:
        return getattr(self.memory, name)


LOST = [("lockservice", "metadata"), ("lockservice", "metadata", "cluster"), ("lockservice",)]


@pytest.mark.parametrize("lost", LOST, ids="+".join)
@pytest.mark.parametrize(("clean", "flush"), [(True, True), (False, False), (False, True)])
def test_data_without_a_lock_service_is_left_as_it_is(lost, clean, flush):
    store = Store()
    model = fill(store, clean, flush)
    files = {path: content for path, content in contents(store).items() if path.split("/")[0] in lost}
    remove(store, *lost)
    before = contents(store)
    assert store.damage()
    for _ in range(2):
        with pytest.raises(InvalidConfiguration, match="lock service"):
            store.life(lambda cluster: None)
    after = {path: content for path, content in contents(store).items() if not path.startswith("lockservice/")}
    assert after == before
    put(store, files)
    store.life(lambda cluster: check_model(cluster, model))


def test_a_folder_of_another_clusters_lock_service_is_refused_and_nothing_of_it_is_touched():
    """Its lock service and its copy of the root are those of an empty cluster: all that is here would be garbage."""
    other, store = Store(seed=2), Store()
    other.life(lambda cluster: None)
    model = fill(store, clean=True, flush=True)
    mine = contents(store)
    remove(store, "lockservice", "metadata")
    theirs = {path: data for path, data in contents(other).items() if path.split("/")[0] in ("lockservice", "metadata")}
    put(store, theirs)
    before = contents(store)
    with pytest.raises(InvalidConfiguration, match="one of the two is from another folder"):
        store.life(lambda cluster: None)
    assert any("from another folder" in found for found in store.damage())
    after = contents(store)
    assert {path for path in before if after.get(path) != before[path]} <= {"lockservice/epochs"}
    remove(store, "lockservice", "metadata")
    put(store, {path: data for path, data in mine.items() if path.split("/")[0] in ("lockservice", "metadata")})
    store.life(lambda cluster: check_model(cluster, model))


def test_the_collector_deletes_nothing_once_the_folder_is_another_clusters():
    store = Store()
    model: Model = {}

    def body(cluster):
        add_table(cluster, model, b"a", [])
        store.fs.write_file("sstables/00000099/s1-000001.sst", b"garbage")
        store.fs.write_file("cluster", b"0" * 32)
        with pytest.raises(InvalidConfiguration, match="no file is collected: the file cluster says 0000"):
            cluster.master.collect_garbage()
        assert store.fs.exists("sstables/00000099/s1-000001.sst")
        check_model(cluster, model)

    store.life(body, clean=False)


@pytest.mark.parametrize("was", ["missing", "cut off", "flipped"])
def test_a_folder_from_before_there_was_an_id_or_with_a_damaged_one_gets_it(was):
    store = Store()
    model = fill(store, clean=True, flush=True)
    whole = contents(store)["cluster"]
    assert len(whole) == 32
    if was == "missing":
        remove(store, "cluster")
        assert not store.damage(), "an older hbtable wrote none"
    else:
        put(store, {"cluster": whole[:20] if was == "cut off" else b"%x" % (int(whole[:1], 16) ^ 1) + whole[1:]})
        [message] = store.damage()
        assert "the file cluster is damaged" in message
    store.life(lambda cluster: check_model(cluster, model))
    assert contents(store)["cluster"] == whole
    assert not store.damage()


def test_a_first_start_that_was_cut_off_is_begun_again():
    """At whatever step: nothing was stored yet, so nothing is in the way."""
    whole = Store()
    whole.life(lambda cluster: None, clean=False)
    steps = ("cluster", "lockservice/files/cluster", "metadata/root-tablet")
    for done in range(len(steps) + 1):
        store = Store()
        kept = {path: data for path, data in contents(whole).items() if path in steps[:done]}
        root = tablet_record.encode(first_root_record(0))
        put(store, {path: root if path == "metadata/root-tablet" else data for path, data in kept.items()})
        model = fill(store, clean=False, flush=False)
        store.life(lambda cluster, model=model: check_model(cluster, model))


@pytest.mark.parametrize("kind", [LOCAL, HDFS])
def test_logs_of_servers_that_began_before_the_first_master_are_no_data(kind):
    runtime = SimulatedRuntime(1)
    memory = MemoryFileSystem(runtime)
    fs = SharedKind(memory, kind)

    def main():
        session = MemoryLockService(runtime).open_session("test")
        for name in ("00000001-aa", "00000002-bb"):
            writer = open_log(runtime, fs, name, LogOptions(), Registry(), lambda: False, lambda: None)
            writer.close()
        refuse_data(runtime, session, fs)
        fs.write_file("sstables/00000010/00000001-aa-000001.sst", b"x")
        with pytest.raises(InvalidConfiguration, match="there is data"):
            refuse_data(runtime, session, fs)

    runtime.run(main)

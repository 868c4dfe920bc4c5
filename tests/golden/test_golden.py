"""Data of every version that ever landed opens in this one, whole: the promise of docs/formats.md.

Each golden folder is opened as a copy, compared with its model cell by cell, written to, flushed, compacted whole,
restarted, and compared again. make.py says how a new one is made.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from hbtable.access.actions import letters_of
from hbtable.access.grants_file import grants_file
from hbtable.access.store import AccountNode
from hbtable.errors import InvalidRequest
from hbtable.fs.memory_disk import MemoryContent
from hbtable.launch.cli.check import check_folder
from hbtable.launch.embedded import EmbeddedDatabase
from hbtable.lockservice.interface import VersionedFile
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema
from tests.harness.sim_cluster import SimCluster, SimOptions
from tests.harness.warm_server import WarmServer

HERE = Path(__file__).parent
GOLDEN = sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz"))
ONE_MACHINE = [name for name in GOLDEN if name.endswith(("-stopped", "-killed"))]
NEWEST_FIRST = [
    pytest.param(name, marks=() if place < 2 else pytest.mark.slow) for place, name in enumerate(reversed(ONE_MACHINE))
]
CLUSTERS = [name for name in GOLDEN if name.endswith(("hdfs",))]
Cells = dict[tuple[str, str, str], list[list[Any]]]


def unpacked(name: str, folder: Path) -> dict[str, Any]:
    """The model. What it is about is in `folder` afterwards."""
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    model: dict[str, Any] = json.loads((folder / "model.json").read_text())
    return model


def due(table: dict[str, Any]) -> Cells:
    return {(row, family, qualifier): versions for row, family, qualifier, versions in table["cells"]}


def found(table: Any) -> Cells:
    """All versions of every column, by scans. `table`: mutate and scan_page."""
    cells: Cells = {}
    request: ScanRequest | None = ScanRequest(spec=ReadSpec(max_versions=100))
    while request is not None:
        page = table.scan_page(request)
        for row, versions in page.rows:
            for column, time, value in versions:
                family, _, qualifier = column.decode("latin-1").partition(":")
                place = (row.decode("latin-1"), family, qualifier)
                cells.setdefault(place, []).append([time, value.decode("latin-1")])
        request = None if page.next is None else ScanRequest(spec=request.spec, position=page.next)
    return cells


def compare(cells: Cells, wanted: Cells) -> None:
    """A time of the server's is not known to the model."""
    assert cells.keys() == wanted.keys()
    for place, versions in wanted.items():
        times = [None if time is None else seen[0] for (time, _), seen in zip(versions, cells[place], strict=True)]
        assert [[time, value] for time, (_, value) in zip(times, cells[place], strict=True)] == versions, place


def written(table: Any, wanted: Cells, families: list[str], turn: int) -> None:
    """A new cell in each family, far in the future, where no time to live ends it."""
    row = f"written-{turn}"
    time = 4_000_000_000_000
    operations = [(PUT, family.encode("latin-1"), b"q", time, b"now") for family in families]
    table.mutate([RowMutation(row.encode(), operations)])
    wanted.update({(row, family, "q"): [[time, "now"]] for family in families})


@pytest.mark.parametrize("name", NEWEST_FIRST)
def test_a_folder_is_whole_is_written_to_and_stays_whole(tmp_path: Path, name: str) -> None:
    model = unpacked(name, tmp_path)
    assert check_folder(str(tmp_path / "data")) == 0
    wanted = {table: due(content) for table, content in model["tables"].items()}
    assert sum(map(len, wanted.values())) > 300
    for turn in range(3):
        with EmbeddedDatabase(tmp_path / "data") as database:
            assert database.tables() == sorted(table.encode() for table in wanted)
            _compare_schemas(database, model)
            for table, content in model["tables"].items():
                if not content["enabled"]:
                    assert not database.is_table_enabled(table)
                    database.enable_table(table)
                calls = database._cluster.client.table(table.encode())
                compare(database._portal.call(found, calls), wanted[table])
                _write(database, calls, content, wanted[table], turn)
                compare(database._portal.call(found, calls), wanted[table])
                if not content["enabled"]:
                    database.disable_table(table)
    assert check_folder(str(tmp_path / "data")) == 0


def _write(database: EmbeddedDatabase, calls: Any, content: dict[str, Any], wanted: Cells, turn: int) -> None:
    """Into memory; then into files; then everything into one file."""
    families = list(content["families"])
    if ["READONLY", "true"] in content["attributes"]:
        with pytest.raises(InvalidRequest):
            database._portal.call(written, calls, dict(wanted), families, turn)
    else:
        database._portal.call(written, calls, wanted, families, turn)
    if turn > 0:
        database.flush_table(calls.name)
    if turn > 1:
        database.compact_table(calls.name, major=True)


def _compare_schemas(database: EmbeddedDatabase, model: dict[str, Any]) -> None:
    admin = database._cluster.client.admin
    for table, content in model["tables"].items():
        schema = database._portal.call(admin.schema, table.encode())
        families = {}
        for name, options in content["families"].items():
            attributes = tuple((key, value) for key, value in options.get("attributes", []))
            fields = {**options, "attributes": attributes}
            families[name.encode("latin-1")] = FamilySchema(name.encode("latin-1"), **fields)
        assert schema.families == families, table
        assert [list(pair) for pair in schema.attributes] == content["attributes"]
        assert schema.split_bytes == content["split_bytes"]
    for name, properties in model["namespaces"].items():
        assert database._portal.call(admin.namespace_properties, name.encode()) == properties


@pytest.mark.integration
@pytest.mark.parametrize("name", ONE_MACHINE)
def test_an_open_scanner_goes_on_and_a_kill_loses_nothing(tmp_path: Path, name: str) -> None:
    model = unpacked(name, tmp_path)
    server = WarmServer(tmp_path / "data")
    with server:
        connection = server.connect()
        if model["scanner"] is not None:
            rest = connection.client.scannerGetList(model["scanner"]["id"], 100)
            assert [result.row.decode("latin-1") for result in rest] == model["scanner"]["rows"]
        connection.table("plain").put(b"killed", {b"f:q": b"now"}, timestamp=5)
        connection.close()
        server.kill()
    with EmbeddedDatabase(tmp_path / "data") as database:
        wanted = due(model["tables"]["plain"]) | {("killed", "f", "q"): [[5, "now"]]}
        compare(database._portal.call(found, database._cluster.client.table(b"plain")), wanted)


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_recovers_is_written_to_and_stays_whole(tmp_path: Path, name: str) -> None:
    model = unpacked(name, tmp_path)
    cluster = SimCluster(SimOptions(seed=30, servers=2, masters=1, log_kind=model["log_kind"]))
    for path in (tmp_path / "files").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            cluster.disk.files[str(path.relative_to(tmp_path / "files"))] = MemoryContent(content, len(content), 0)
    for path, (version, data) in json.loads((tmp_path / "lockservice.json").read_text()).items():
        cluster.lock_service._files.put(path, VersionedFile(data.encode("latin-1"), version))
    # Epochs and session ids of the old cluster's lock service are not its files'; those of ZooKeeper only grow.
    cluster.lock_service._files.reserve_numbers(1000)
    wanted = due(model["tables"]["t"])
    assert len(wanted) > 40
    cluster.runtime.run(lambda: _live_on(cluster, wanted, model))


def _live_on(cluster: SimCluster, wanted: Cells, model: dict[str, Any]) -> None:
    cluster.start()
    cluster.runtime.sleep(10)
    client = cluster.add_client()
    table = client.client.table(b"t")
    for turn in range(2):
        if "users" in model:
            cluster.in_process(client, _compare_access, client, model)
        compare(cluster.in_process(client, found, table), wanted)
        cluster.in_process(client, written, table, wanted, ["f", "g"], turn)
        cluster.in_process(client, client.client.admin.major_compact, b"t")
        compare(cluster.in_process(client, found, table), wanted)
        for slot in cluster.servers:
            slot.process.kill()


def _compare_access(client: Any, model: dict[str, Any]) -> None:
    """Who may come in and do what, and how much they may ask for, are as they were."""
    session = client.connect()
    users = AccountNode(session).read()
    assert sorted(users.by_name) == model["users"]
    password = users.account("ann").password
    assert password is not None
    assert password.matches(b"golden password")
    assert users.by_token("0123456789abcdef") is not None
    grants = [[one.holder, str(one.scope), letters_of(one.actions)] for one in grants_file(session).read()]
    assert grants == model["grants"]
    later = [dict(one) for one in client.transport.master().quotas()]
    assert len(later) == len(model["quotas"])
    for now, then in zip(later, model["quotas"], strict=True):
        assert now.items() >= then.items()


def test_there_are_golden_folders_of_every_kind() -> None:
    kinds = {name.rpartition("-")[2] for name in GOLDEN}
    assert kinds == {"stopped", "killed", "hdfs", "webhdfs"}


def test_a_difference_is_seen(tmp_path: Path) -> None:
    """One cell lost, one changed, one too many."""
    model = unpacked(ONE_MACHINE[0], tmp_path)
    with EmbeddedDatabase(tmp_path / "data") as database:
        cells = database._portal.call(found, database._cluster.client.table(b"plain"))
    wanted = due(model["tables"]["plain"])
    place = min(wanted)
    for other in (
        {key: value for key, value in cells.items() if key != place},
        {**cells, place: [[0, "other"]]},
        {**cells, ("more", "f", "q"): [[1, ""]]},
    ):
        with pytest.raises(AssertionError):
            compare(other, wanted)

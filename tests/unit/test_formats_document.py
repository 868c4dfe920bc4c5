"""docs/formats.md shows the very bytes that the code reads and writes: every example is decoded and encoded again.

Those of the commit log and of the SSTable have tests of their own beside their packages.
"""

import json
import re
from pathlib import Path

from hbtable.access import grants_record, position_key
from hbtable.access.accounts import Accounts
from hbtable.access.actions import actions_of
from hbtable.access.grants import NO_GRANTS
from hbtable.access.passwords import PasswordHash, TokenRecord
from hbtable.access.scopes import GLOBAL, of_table
from hbtable.commitlog.records import decode_records
from hbtable.encoding import cell_key, table_record, tablet_event, tablet_record, varint
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.filters.evaluate import start
from hbtable.filters.grammar import parse
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.memory import MemoryFileSystem
from hbtable.hbase.calls.scanner_ids import ScannerIds, unsaved
from hbtable.hbase.calls.scanners import ScannerOptions, Scanners
from hbtable.lockservice.files import DurableFiles
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.paths import MasterCandidate, ServerFile
from hbtable.memtable.memtable import Memtable
from hbtable.metadata import layout as metadata_layout
from hbtable.model.mutation import DELETE_COLUMN, PUT, RowMutation
from hbtable.model.range_delete import RangeDelete
from hbtable.model.ranges import RowRange
from hbtable.model.read import ScanPosition
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import NO_LOG, GoneTablet, LogRef, MergesInto, SSTableRef, TabletRecord
from hbtable.model.tablet_event import GIVEN, TabletEvent
from hbtable.quotas import quotas_record
from hbtable.quotas.settings import NO_QUOTAS, SpaceLimit, SpacePolicy, Subject, ThrottleSetting, ThrottleType
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.writes.apply import WriteBuilder
from hbtable.tablet.writes.clock import TabletClock
from hbtable.testing.simulated.runtime import SimulatedRuntime

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text()
NOW = 1_700_000_000_123


def _block(name: str) -> str:
    found = re.search(rf"```{name}\n(.*?)```", DOCUMENT, re.DOTALL)
    assert found is not None, name
    return found[1]


def _example(name: str) -> bytes:
    example = b""
    for line in _block(name).splitlines():
        offset, _, rest = line.partition("  ")
        assert int(offset, 16) == len(example), line
        example += bytes.fromhex(rest[:47].strip())
    return example


def test_a_varint() -> None:
    assert varint.decode(_example("varint"), 0) == (300, 2)
    assert varint.encode(300) == _example("varint")


def test_a_cell_key() -> None:
    parts = (b"r\0w", b"f", b"q\0", NOW, PUT, 7, 0)
    assert cell_key.parse(_example("cell-key")) == parts
    assert cell_key.cell_key(*parts) == _example("cell-key")


def test_a_cell_key_of_a_family_that_was_added() -> None:
    stored = cell_key.stored_family(b"f", 12)
    assert cell_key.family_name(stored) == b"f"
    example = _example("cell-key-of-an-added-family")
    assert cell_key.parse(example) == (b"r", stored, b"q", NOW, PUT, 7, 0)
    layout = LocalityGroupLayout(TableSchema(b"t", {b"f": FamilySchema(b"f", added_in=12)}))
    assert layout.keys == ("f\x0112",)
    builder = WriteBuilder(layout, RowRange(), 20, 3, TabletClock(lambda: NOW, lambda: 0.0), 10 << 20)
    [[(key, _)]] = builder.build([RowMutation(b"r", [(PUT, b"f", b"q", -1, b"v")])], 7).by_stack
    assert key == example


def test_the_pairs_of_a_mutation() -> None:
    example = _example("mutation")
    [record] = decode_records(example, 0, len(example), "the document")
    assert record[:4] == (20, 3, 7, NOW + 1)
    assert [cell_key.parse(key) for key, _ in record.pairs] == [
        (b"r", b"f", b"q", NOW, DELETE_COLUMN, 7, 0),
        (b"r", b"f", b"q", NOW + 1, PUT, 7, cell_key.FLAG_TTL),
    ]
    assert [value for _, value in record.pairs] == [b"", (60_000).to_bytes(8, "big") + b"v"]
    layout = LocalityGroupLayout(TableSchema(b"t", {b"f": FamilySchema(b"f")}))
    builder = WriteBuilder(layout, RowRange(), 20, 3, TabletClock(lambda: NOW, lambda: 0.0), 10 << 20)
    operations = [(DELETE_COLUMN, b"f", b"q", -1, b""), (PUT, b"f", b"q", -1, b"v")]
    assert builder.build([RowMutation(b"r", operations, ttl_millis=60_000)], 7).records == [example]
    memtable = Memtable()
    memtable.add(record.pairs, 7, checksum_of(record.pairs))
    assert memtable.bytes_used == sum(128 + len(key) + len(value) for key, value in record.pairs)


def test_a_tablet_record() -> None:
    ref = SSTableRef("sstables/00000010/s1-000001.sst", 579, 0x148768BB, 7, 8, 3)
    log = LogRef("s1", 9)
    left = TabletRecord(16, 21, RowRange(b"", b"m"), NOW, "s1", 3, (("f", (ref,)),), (log,))
    record = TabletRecord(16, 22, RowRange(b"m", b""), NOW, "s1", 3, (), (LogRef("s0", 4), log), left)
    assert tablet_record.decode(_example("tablet-record")) == record
    assert tablet_record.encode(record) == _example("tablet-record")


def test_the_records_of_a_merge() -> None:
    rows = RowRange(b"", b"m")
    left = TabletRecord(
        16, 21, rows, NOW, "", 3, (), (LogRef(NO_LOG, 9),), merges_into=MergesInto(b"", 30, right_generation=5)
    )
    merged = TabletRecord(16, 30, RowRange(b"", b""), NOW, "", 6, (), (LogRef(NO_LOG, 12),), absorbs=b"m")
    for name, record in (("tablet-record-merges-into", left), ("tablet-record-absorbs", merged)):
        assert tablet_record.decode(_example(name)) == record
        assert tablet_record.encode(record) == _example(name)
    gone = GoneTablet(16, 21, rows, 6, NOW)
    assert tablet_record.decode_row(_example("tablet-record-gone"), "") == gone
    assert tablet_record.encode_gone(gone) == _example("tablet-record-gone")


def test_the_record_of_a_tablet_with_deleted_ranges() -> None:
    deleted = (RangeDelete(b"a", b"b", NOW), RangeDelete(b"k", b"", NOW + 1))
    ref = SSTableRef("sstables/00000010/s1-000001.sst", 579, 0x148768BB, 7, 8, 3, deleted)
    record = TabletRecord(16, 21, RowRange(b"", b"m"), NOW, "s1", 4, (("f", (ref,)),), (LogRef("s1", 9),))
    assert tablet_record.decode(_example("tablet-record-ranges")) == record
    assert tablet_record.encode(record) == _example("tablet-record-ranges")


def test_the_record_of_a_withheld_tablet() -> None:
    record = TabletRecord(16, 21, RowRange(b"", b"m"), NOW, "", 4, (), (LogRef("s1", 9),), withheld_millis=NOW + 1)
    assert tablet_record.decode(_example("tablet-record-withheld")) == record
    assert tablet_record.encode(record) == _example("tablet-record-withheld")


def test_grants() -> None:
    grants = NO_GRANTS.with_grant("@ops", GLOBAL, actions_of("A")).with_grant("ann", of_table(b"t"), actions_of("RW"))
    grants = grants.with_grant("bob", of_table(b"t", b"f", b"q"), actions_of("R"))
    assert grants_record.decode(_example("grants")) == grants
    assert grants_record.encode(grants) == _example("grants")


def test_the_key_of_positions() -> None:
    assert position_key.decode(_example("positions")) == bytes(range(32))
    assert position_key.encode(bytes(range(32))) == _example("positions")


def test_quotas() -> None:
    requests = ThrottleSetting(Subject(table=b"t"), ThrottleType.REQUEST_NUMBER, 1000, 1)
    bytes_read = ThrottleSetting(Subject("ann", table=b"t"), ThrottleType.READ_SIZE, 300, 60, cluster=True)
    quotas = NO_QUOTAS.with_throttle(requests).with_throttle(bytes_read).with_exemption("bob", True)
    assert quotas_record.decode(_example("quotas")) == quotas
    assert quotas_record.encode(quotas) == _example("quotas")


def test_quotas_with_limits_of_space() -> None:
    quotas = NO_QUOTAS.with_space_limit(SpaceLimit(b"", b"t", 1 << 30, SpacePolicy.NO_INSERTS))
    quotas = quotas.with_space_limit(SpaceLimit(b"n", b"", 300, SpacePolicy.DISABLE, violated=True))
    quotas = quotas.with_disabled(b"n:u", True)
    assert quotas_record.decode(_example("quotas-space")) == quotas
    assert quotas_record.encode(quotas) == _example("quotas-space")


def test_a_table_record() -> None:
    family = FamilySchema(b"f", 1, compression="SNAPPY", bloom="ROW", in_memory=True)
    record = TableRecord(16, TableState.ENABLED, TableSchema(b"t", {b"f": family}, version=2))
    assert table_record.decode(_example("table-record")) == record
    assert table_record.encode(record) == _example("table-record")


def test_a_table_record_with_a_family_that_was_added() -> None:
    family = FamilySchema(b"f", 1, added_in=12, attributes=(("k", "v"),))
    record = TableRecord(16, TableState.ENABLED, TableSchema(b"t", {b"f": family}, version=12))
    assert table_record.decode(_example("table-record-added-family")) == record
    assert table_record.encode(record) == _example("table-record-added-family")


def test_an_event_of_a_tablet() -> None:
    example = _example("tablet-event")
    event = TabletEvent(16, 20, 3, NOW, GIVEN, "s1", "", "nobody owns it")
    assert tablet_event.encode(event) == example
    assert tablet_event.decode(example, "the document") == event


def test_a_list_of_users() -> None:
    accounts = Accounts().with_user("ann", PasswordHash(b"0123456789abcdef", bytes(range(32))))
    accounts = accounts.with_token("ann", TokenRecord("15d339487989", bytes(range(32, 64)), NOW), 0)
    shown = _example("users-head") + " ".join(_block("users").splitlines()).encode()
    assert Accounts.decode(shown, "the document") == accounts
    assert accounts.encode() == shown


def test_the_row_keys_of_metadata() -> None:
    shown = []
    for line in _block("metadata-keys").splitlines():
        digits, _, rest = line.partition("  ")
        key, text = bytes.fromhex(digits), rest.split()[0].encode()
        assert key == text
        shown.append(key)
    assert shown == sorted(shown)
    assert shown == [
        metadata_layout.tablet_key(0, b""),
        metadata_layout.tablet_key(16, b"m"),
        metadata_layout.tablet_key(16, b""),
        metadata_layout.history_key(16, 20),
        metadata_layout.namespace_key(b"ns"),
        metadata_layout.table_key(b"ns:t"),
    ]
    assert min(key for key in shown if key >= metadata_layout.first_key_for(16, b"a")) == shown[1]
    assert min(key for key in shown if key >= metadata_layout.first_key_for(16, b"m")) == shown[2]


def test_the_files_of_the_lock_service() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        fs = MemoryFileSystem(runtime)
        files = DurableFiles(fs)
        fs.write_file("lockservice/files/incarnations", _example("lock-file"))
        assert files.load("/incarnations") == VersionedFile(b"7", 7)
        files.put("/a.b/c", VersionedFile(b"7", 7))
        assert fs.read_file("lockservice/files/a.db.sc") == _example("lock-file")
        assert files.reserve_numbers(1000) == 1
        assert fs.read_file("lockservice/epochs") == _example("epochs")
        assert files.reserve_numbers(1000) == 1001

    runtime.run(main)
    description = ServerFile("", NOW)
    assert _block("server-file").encode().strip() == description.encode()
    assert ServerFile.decode("p", _block("server-file").encode()) == description
    assert _block("candidate").encode().strip() == MasterCandidate("host:9092", NOW).encode()


def test_the_data_folder(tmp_path: Path) -> None:
    root = tmp_path / "data"
    folder = DataFolder.open(str(root), "127.0.0.1:9090")
    assert (root / "FORMAT").read_bytes() == _example("format")
    said = re.sub(rb"pid [0-9]+", b"pid 4711", (root / "LOCK").read_bytes())
    assert re.sub(rb"host .*\npids .*\n", b"host h1\npids pid:[4026531836]\n", said) == _example("lock")
    folder.close()
    assert (root / "LOCK").read_bytes() == b""
    (root / "FORMAT").write_bytes(_example("format"))
    DataFolder.open(str(root)).close()


def test_saved_scanners_with_time_ranges_of_families() -> None:
    saved = json.loads(_block("scanners with time ranges of families"))
    scanners = Scanners(SimulatedRuntime(1), ScannerIds(unsaved()), ScannerOptions())
    scanners.restore(json.dumps(saved).encode("ascii"))
    assert json.loads(scanners.save()) == saved
    assert scanners.use(6).request.family_times == {b"f": (3, 9), b"g": (0, 2**63 - 1)}


def test_saved_scanners() -> None:
    saved = json.loads(_block("scanners"))
    runtime = SimulatedRuntime(1)
    scanners = Scanners(runtime, ScannerIds(unsaved()), ScannerOptions())
    scanners.restore(json.dumps(saved).encode("ascii"))
    assert json.loads(scanners.save()) == saved
    scanner = scanners.use(5)
    assert scanner.request.spec.columns == {b"f": frozenset((b"\xff",)), b"g": None}
    assert scanner.position == ScanPosition(b"b\0", 0, b"\x03")
    page_filter = start(parse(scanner.request.spec.filter or b""))
    for row in (b"1", b"2", b"3"):
        assert not page_filter.skips_row(row)
        assert page_filter.apply(row, [(b"f:", 1, b"")], 1)
    assert page_filter.state() == scanner.position.filter_state

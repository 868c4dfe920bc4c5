"""Every number on disk that says how the bytes beside it are to be read: each value that this version does not know is
refused as a later version's, by name, and never taken for a known one, nor for damage.

One line for each such number: where it stands in a sound file, which values are known, and who reads it. The checksums
around it are made anew, so that nothing but the number is wrong.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from unittest.mock import patch
from zlib import crc32

import pytest

from hbtable.access import grants_record, position_key
from hbtable.access.accounts import Accounts
from hbtable.commitlog import groups, records
from hbtable.commitlog.group_files import group_file
from hbtable.commitlog.recovery import fencing, manifest, sorted_runs
from hbtable.commitlog.segments import high_water, segment
from hbtable.encoding import cell_key, namespace_row, table_record, tablet_record
from hbtable.encoding.sealed import HEADER_BYTES, seal
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.folder_format import FEATURES, format_damage, read_format, require_feature, restore_format
from hbtable.fs.memory import MemoryFileSystem
from hbtable.hbase.calls.scanners import Scanners
from hbtable.lockservice import features, files
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.paths import MasterCandidate, ServerFile
from hbtable.lockservice.toggles import Toggle
from hbtable.merge.compacting import compacted
from hbtable.merge.lifetimes import with_lifetimes
from hbtable.merge.raw import raw_rows
from hbtable.merge.rules import FamilyRules
from hbtable.merge.visibility import rows
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import KINDS
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import GoneTablet, TabletRecord
from hbtable.quotas import quotas_record
from hbtable.repair.evidence import gather
from hbtable.sstable import bloom, compression, layout
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.properties import SSTableIdentity
from hbtable.sstable.reader import SSTableReader
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

FOLDER = "logs/s1"
BYTES = range(256)
SHORTS = [*range(300), 2**15, 2**16 - 1]
WORDS = [*range(300), *(1 << bit for bit in range(9, 32)), 2**32 - 1]


@dataclass(frozen=True)
class Number:
    """`read` is given the file with a value at its place, and refuses it, by name."""

    name: str
    values: Iterable[int]
    known: Iterable[int]
    read: Callable[[int], object]


def patched(data: bytes, at: int, size: int, value: int) -> bytes:
    return data[:at] + value.to_bytes(size, "big") + data[at + size :]


def resealed(data: bytes) -> bytes:
    """With its last four bytes the checksum of all before."""
    return data[:-4] + crc32(data[:-4]).to_bytes(4, "big")


# ---------------------------------------------------------------- records of METADATA

SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f")}, 1)
TABLE = table_record.encode(TableRecord(16, TableState.ENABLED, SCHEMA))
TABLET = tablet_record.encode(TabletRecord(16, 17, RowRange(), 5))
GONE = tablet_record.encode_gone(GoneTablet(16, 17, RowRange(), 3, 9))
FAMILY_FLAGS_AT = len(TABLE) - 5  # then three bytes of block size, and an empty group


def with_family_flags(flags: int) -> bytes:
    assert TABLE[FAMILY_FLAGS_AT + 1 :] == b"\x80\x80\x04\x00"
    body = TABLE[HEADER_BYTES:FAMILY_FLAGS_AT] + bytes([flags]) + TABLE[FAMILY_FLAGS_AT + 1 :]
    return seal(b"N", 1, body)


def with_word(old: bytes, new: bytes) -> bytes:
    body = TABLE[HEADER_BYTES:]
    assert body.count(bytes([len(old)]) + old) >= 1
    return seal(b"N", 1, body.replace(bytes([len(old)]) + old, bytes([len(new)]) + new))


# ---------------------------------------------------------------- quotas

QUOTAS_BODIES = (b"\1\0\0", b"\1\0\0\0\0")
"""Without and with what version 2 adds."""


def read_quotas(version: int, body: bytes) -> object:
    return quotas_record.decode(seal(b"Q", version, body))


def read_throttle(type: int, scope: int) -> object:
    return read_quotas(1, b"\1\0\1" + b"\1u\0\0" + bytes((type, 5, 1, scope)))


def read_space(policy: int, violated: int) -> object:
    return read_quotas(2, b"\1\0\0\1" + b"\0\1t\5" + bytes((policy, violated)) + b"\0")


# ---------------------------------------------------------------- cells

RULES = {b"f": FamilyRules(3, 0, 0, False)}


def a_cell(kind: int, flags: int) -> list[tuple[bytes, bytes]]:
    return [(cell_key.cell_key(b"r", b"f", b"q", 5, kind, 7, flags), b"12345678value")]


def a_file(kind: int, flags: int) -> SSTableReader:
    identity = SSTableIdentity(1, 2, "f", 3)
    builder = SSTableBuilder(SSTableOptions(), identity)
    for key, value in a_cell(kind, flags):
        builder.add(key, value)
    whole = builder.finish()
    return SSTableReader.open(lambda at, size: whole[at : at + size], "a.sst", len(whole), BlockCache(0))


def a_log_that_is_checked(kind: int, flags: int) -> object:
    header = SEGMENT
    record = records.encode_record(20, 3, 7, 0, a_cell(kind, flags))
    group = groups.frame(segment.seed("s1", 1), len(header), 1, 0, 1, record)
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)

    def body() -> dict[str, str]:
        fs.write_file(f"{FOLDER}/0000000001.log", header + group)
        found = gather(fs, lambda: None)
        assert found.log_records == 1
        return found.logs

    return runtime.run(body)


def of_cells(name: str, read: Callable[[list[tuple[bytes, bytes]]], Iterable[object]]) -> list[Number]:
    return [
        Number(f"kind, {name}", BYTES, KINDS, lambda kind: list(read(a_cell(kind, 0)))),
        Number(f"flags, {name}", BYTES, (0, 1), lambda flags: list(read(a_cell(8, flags)))),
    ]


# ---------------------------------------------------------------- SSTables

SSTABLE_FOOTER = layout.encode_footer(layout.Handle(0, 5, 1), layout.Handle(5, 5, 1), layout.Handle(10, 5, 1))[0]


def with_footer_version(version: int) -> object:
    footer = patched(SSTABLE_FOOTER, 50, 2, version)
    footer = footer[:52] + crc32(footer[:52]).to_bytes(4, "big") + footer[56:]
    return layout.decode_footer("a.sst", footer, 15 + len(footer))


def with_compression(code: int) -> object:
    sealed, checksum = layout.seal(compression.compress(min(code, 5), b"raw " * 100)[1], code, 0)
    return layout.unseal("a.sst", layout.Handle(0, len(sealed), checksum), sealed)


# ---------------------------------------------------------------- logs

SEGMENT = segment.encode_header(segment.SegmentHeader("s1", "sync", 1, 0, 0, 1, 0, 1, 9))
GROUP_FILE = group_file.encode_group_file(group_file.GroupFile("s1", 2, 0, 1, 1, 1, 0, 9), b"")
MANIFEST = manifest.encode_manifest(manifest.Manifest("s1", "hdfs", (manifest.LogFile("a", 1),)))
RUN_END = sorted_runs.encode_end([])
HIGH_WATER = high_water.encode_high_water(high_water.HighWater(1, 2, 3, 4, {}))
RUN_LIST = sorted_runs.encode_list([sorted_runs.SortedRun(1, 1, 2, 3)])


def read_segment(data: bytes) -> object:
    found = segment.decode_header(resealed(data), "a.log", "s1", 1)
    assert found is not None
    return found


def read_group(flags: int) -> object:
    found = groups.group_at(groups.frame(7, 0, 2, 1, 1, b"", flags), 0, 7)
    assert found is not None
    return found


def read_group_file(data: bytes) -> object:
    found = group_file.decode_group_file(resealed(data), "a.grp", "s1", group_file.GroupName(2, 0, 1))
    assert found is not None
    return found


def read_table(version: int) -> object:
    return table_record.decode(seal(b"N", version, TABLE_BODY[version]))


def read_list_version(version: int) -> object:
    """Version 3 goes on with gaps."""
    gaps = b"\0\0\0\x02[]" if version == 3 else b""
    body = patched(RUN_LIST, 8, 2, version)[:-4]
    return sorted_runs.decode_list(resealed(body + gaps + bytes(4)), "a list")


def read_high_water(version: int) -> object:
    return high_water.decode_high_water(seal(b"H", version, HIGH_WATER[HEADER_BYTES:]), "a mark")


def read_run(data: bytes) -> object:
    footer = resealed(data)
    run = sorted_runs.SortedRun(1, 1, crc32(footer[:-4]), len(footer))
    return sorted_runs.decode_footer(footer, run, "a.run")


# ---------------------------------------------------------------- the lock service

LOCK_FILE = files._encode(VersionedFile(b"7", 3))


def with_format(data: bytes, number: int) -> bytes:
    return json.dumps({**json.loads(data), "format": number}).encode()


def read_toggle(position: int) -> object:
    runtime = SimulatedRuntime(1)

    def body() -> bool:
        session = MemoryLockService(runtime).open_session("test")
        session.create("/balancer", (b"off", b"on", b"on, but", b"")[position])
        return Toggle(session, "/balancer").is_on()

    return runtime.run(body)


def read_cluster(cluster: dict[str, object]) -> object:
    return features.read_cluster(json.dumps({"id": "0", "log_kind": "local", **cluster}).encode())


def granted_at(level: int) -> bytes:
    """To nobody."""
    names = {1: 1, 2: 1, 3: 2, 4: 3}.get(level, 0)
    return seal(b"G", 1, bytes([1, level]) + b"\1n" * names + b"\0")


def granted(actions: int) -> bytes:
    return seal(b"G", 1, bytes([1, 0, 1, 1]) + b"u" + bytes([actions]))


# ---------------------------------------------------------------- the table

NUMBERS = [
    Number("table record", BYTES[1:], (1, 2, 3), lambda value: read_table(value)),
    Number("family flags", range(128), range(8), lambda value: table_record.decode(with_family_flags(value))),
    Number("grants", BYTES[1:], (1,), lambda value: grants_record.decode(seal(b"G", value, b"\0"))),
    Number("level of a grant", range(128), range(5), lambda value: grants_record.decode(granted_at(value))),
    Number("granted actions", range(128), range(32), lambda value: grants_record.decode(granted(value))),
    Number("key of positions", BYTES[1:], (1,), lambda value: position_key.decode(seal(b"P", value, bytes(32)))),
    Number("quotas", BYTES[1:], (1, 2), lambda value: read_quotas(value, QUOTAS_BODIES[value == 2])),
    Number("state of quotas", range(128), (0, 1), lambda value: read_quotas(1, bytes((value, 0, 0)))),
    Number("type of a throttle", range(128), range(1, 10), lambda value: read_throttle(value, 0)),
    Number("scope of a throttle", range(128), (0, 1), lambda value: read_throttle(1, value)),
    Number("policy of a limit of space", range(128), range(1, 5), lambda value: read_space(value, 0)),
    Number("state of a limit of space", range(128), (0, 1), lambda value: read_space(1, value)),
    Number("tablet record", BYTES[1:], (1, 2, 3), lambda value: tablet_record.decode_row(TABLETS(value), "a row")),
    Number(
        "form of a tablet record",
        range(128),
        (1, 2, 3),
        lambda value: tablet_record.decode_row(seal(b"T", 2, bytes([value]) + FORMS.get(value, b"")), "a row"),
    ),
    *of_cells("read", lambda pairs: rows([pairs], RULES, None, 0, MAX_TIMESTAMP, 3, 5)),
    *of_cells("compacted", lambda pairs: compacted(pairs, RULES, 5, False)),
    *of_cells("compacted whole", lambda pairs: compacted(pairs, RULES, 5, True)),
    *of_cells("read to copy", lambda pairs: rows(with_lifetimes([pairs]), RULES, None, 0, MAX_TIMESTAMP, 3, 5)),
    *of_cells("read raw", lambda pairs: raw_rows([pairs], [b"f"], None, 0, MAX_TIMESTAMP, 3)),
    Number("kind, in a log that is checked", BYTES, KINDS, lambda value: a_log_that_is_checked(value, 0)),
    Number("flags, in a log that is checked", BYTES, (0, 1), lambda value: a_log_that_is_checked(8, value)),
    Number("kind, in a file that is checked", BYTES, KINDS, lambda value: a_file(value, 0).verify()),
    Number("flags, in a file that is checked", BYTES, (0, 1), lambda value: a_file(8, value).verify()),
    Number("SSTable footer", SHORTS[1:], (1,), with_footer_version),
    Number("compression", BYTES, range(6), with_compression),
    Number("Bloom filter", BYTES, (1, 2), lambda value: bloom.decode_bloom("p", 0, bytes([value, 5]) + EIGHT_BITS)),
    Number("segment version", SHORTS[1:], (1,), lambda value: read_segment(patched(SEGMENT, 8, 2, value))),
    Number("durability", BYTES, (0, 1), lambda value: read_segment(patched(SEGMENT, 12, 1, value))),
    Number("segment reserved", [*SHORTS, 2**24 - 1], (0,), lambda value: read_segment(patched(SEGMENT, 13, 3, value))),
    Number("group flags", WORDS, range(4), read_group),
    Number("group file version", SHORTS[1:], (1,), lambda value: read_group_file(patched(GROUP_FILE, 8, 2, value))),
    Number("group file flags", WORDS, range(4), lambda value: read_group_file(patched(GROUP_FILE, 12, 4, value))),
    Number("manifest version", SHORTS[1:], (1,), lambda value: read_manifest(patched(MANIFEST, 8, 2, value))),
    Number("manifest kind", BYTES, range(3), lambda value: read_manifest(patched(MANIFEST, 10, 1, value))),
    Number("manifest reserved", BYTES, (0,), lambda value: read_manifest(patched(MANIFEST, 11, 1, value))),
    Number("run version", SHORTS[1:], (1,), lambda value: read_run(patched(RUN_END, 8, 2, value))),
    Number("run reserved", SHORTS, (0,), lambda value: read_run(patched(RUN_END, 10, 2, value))),
    Number("list version", SHORTS[2:], (2, 3), read_list_version),
    Number("list of users", BYTES[1:], (1,), lambda value: Accounts.decode(seal(b"U", value, b'{"users": []}'), "u")),
    Number("high-water mark", BYTES[1:], (1,), lambda value: read_high_water(value)),
    Number("list reserved", SHORTS, (0,), lambda value: read_list(patched(RUN_LIST, 10, 2, value))),
    Number("lock service file", BYTES[1:], (1,), lambda value: read_lock_file(patched(LOCK_FILE, 4, 1, value))),
    Number("server file", BYTES, (1,), lambda value: ServerFile.decode("a", with_format(SERVER, value))),
    Number("candidate", BYTES, (1,), lambda value: MasterCandidate._decode("a", with_format(CANDIDATE, value))),
    Number("switch", range(4), (0, 1), read_toggle),
    Number("cluster", BYTES[1:], (1, 2), lambda value: read_cluster({"format": value})),
]  # fmt: skip

TABLE_BODY = dict.fromkeys(BYTES, TABLE[HEADER_BYTES:]) | {
    2: TABLE[HEADER_BYTES:] + b"\x00\x00",
    3: TABLE[HEADER_BYTES:] + b"\x00\x00\x01",
}
FORMS = {1: b"\x00\x1e\x05" + TABLET[HEADER_BYTES:], 2: b"\x00" + TABLET[HEADER_BYTES:], 3: GONE[HEADER_BYTES + 1 :]}
EIGHT_BITS = (8).to_bytes(8, "big") + b"\x00"
SERVER = ServerFile("host:1", 5).encode()
CANDIDATE = MasterCandidate("host:1", 5).encode()


def TABLETS(version: int) -> bytes:
    bodies = {2: GONE[HEADER_BYTES:], 3: b"\x09" + TABLET[HEADER_BYTES:]}
    return seal(b"T", version, bodies.get(version, TABLET[HEADER_BYTES:]))


def read_manifest(data: bytes) -> object:
    return manifest.decode_manifest(resealed(data), FOLDER)


def read_lock_file(data: bytes) -> object:
    return files._decode("a", resealed(data))


def read_list(data: bytes) -> object:
    return sorted_runs.decode_list(resealed(data), "a list")


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_what_is_not_known_is_refused_by_name(number: Number) -> None:
    known = frozenset(number.known)
    assert known <= frozenset(number.values)
    for value in number.values:
        if value in known:
            number.read(value)
            continue
        with pytest.raises(UnsupportedFormat) as refusal:
            number.read(value)
        assert "newer" in str(refusal.value) or "reads up to" in str(refusal.value)


@pytest.mark.parametrize(
    ("old", "new"), [(b"enabled", b"resting"), (b"NONE", b"MAGIC")], ids=["state", "compression and Bloom filter"]
)
def test_a_word_that_is_not_known_is_refused_by_name(old: bytes, new: bytes) -> None:
    with pytest.raises(UnsupportedFormat, match=new.decode()):
        table_record.decode(with_word(old, new))


def test_what_a_later_version_says_of_a_namespace_is_refused() -> None:
    assert namespace_row.decode(b"ns") == {}
    for rest in (b"", b"\x02", b"\x02more"):
        with pytest.raises(UnsupportedFormat, match="namespace b'ns' has the format"):
            namespace_row.decode(b"ns\x00\x00" + rest)


def test_what_a_later_version_says_of_a_log_that_ended_is_refused() -> None:
    before = b"BtLogEnd" + bytes(8) + b"s1"
    assert fencing.is_given_up(before, "s1")  # from before there was a version
    assert fencing.is_given_up(fencing.encode_given_up("s1", 7), "s1")
    assert not fencing.is_given_up(b"", "s1")
    for marker in (before + b"\x00\x02", before + b"2", b"BtLogNew" + before[8:], b"x", before[:12]):
        with pytest.raises(UnsupportedFormat, match="fenced/s1"):
            fencing.is_given_up(marker, "s1")


def test_what_servers_and_masters_said_before_there_was_a_format_is_read() -> None:
    server = ServerFile("host:1", 5, "hdfs", True, "door", True, True, 2)
    assert (
        ServerFile.decode("a", json.dumps(asdict(server)).encode()) == server == ServerFile.decode("a", server.encode())
    )
    assert MasterCandidate._decode("a", b'{"address": "host:1", "started_millis": 5}') == MasterCandidate("host:1", 5)


@pytest.mark.parametrize(
    "text",
    [
        *("format 2\n", "format 2\nand more\n", "format 10\n", "format 3\nfeatures one\n"),
        *("format 2\nfeatures\n", "format 2\nfeatures one  two\n", "format 2\nfeatures one\nand more\n"),
    ],
)
def test_a_folder_of_a_later_version_is_refused(tmp_path, text: str) -> None:
    (tmp_path / "FORMAT").write_text(f"hbtable data folder\n{text}")
    with pytest.raises(UnsupportedFormat, match="newer hbtable"):
        DataFolder.open(str(tmp_path))


def test_features_of_a_folder_that_a_later_version_uses_are_refused_by_name(tmp_path) -> None:
    (tmp_path / "FORMAT").write_text("hbtable data folder\nformat 2\nfeatures mirrored-logs packed-locks\n")
    with pytest.raises(UnsupportedFormat, match="newer hbtable, with mirrored-logs, packed-locks"):
        DataFolder.open(str(tmp_path))
    known, refused = patch.dict(FEATURES, {"packed-locks": "an example"}), pytest.raises(UnsupportedFormat)
    with known, refused as caught:
        DataFolder.open(str(tmp_path))
    assert "with mirrored-logs; this one knows packed-locks" in str(caught.value)


def test_a_folder_lists_the_features_that_are_used_and_no_others(tmp_path) -> None:
    DataFolder.open(str(tmp_path)).close()
    before = (tmp_path / "FORMAT").read_text()
    assert before == "hbtable data folder\nformat 1\n"  # every version reads it
    with patch.dict(FEATURES, {"packed-locks": "an example", "another": "one that nobody uses"}):
        DataFolder.open(str(tmp_path)).close()
        assert (tmp_path / "FORMAT").read_text() == before
        for _ in range(2):
            require_feature(str(tmp_path), "packed-locks")
        DataFolder.open(str(tmp_path)).close()
        assert (tmp_path / "FORMAT").read_text() == "hbtable data folder\nformat 2\nfeatures packed-locks\n"
        assert read_format(str(tmp_path)) == ("packed-locks",)
        (tmp_path / "FORMAT").write_bytes(b"damaged")
        with pytest.raises(Corruption, match=rf"which format .*`hbtable repair {tmp_path}`"):
            DataFolder.open(str(tmp_path))
        assert format_damage(str(tmp_path)).endswith("which format the data folder has"), "who reads it repairs it"
        restore_format(str(tmp_path))
        assert read_format(str(tmp_path)) == ("another", "packed-locks")
    with pytest.raises(UnsupportedFormat, match="packed-locks"):
        DataFolder.open(str(tmp_path))


def test_saved_scanners_of_a_later_version_are_refused() -> None:
    runtime = SimulatedRuntime(1)
    scanners = Scanners(runtime, None, None)  # type: ignore[arg-type]  # neither is used to restore
    for number in (0, 3, 4):
        with pytest.raises(UnsupportedFormat, match=f"format {number}"):
            scanners.restore(json.dumps({"format": number, "scanners": []}).encode())
    assert MemoryFileSystem(runtime).list_files("") == []

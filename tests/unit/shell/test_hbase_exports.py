"""Files that a real HBase's Export wrote (tests/golden/make_hbase_exports.py), as they are, cut and changed: what is
read is what the table held, and everything else is said, with file and byte."""

import base64
import json
import os
import random
import re
import shutil
import tarfile
import zlib
from pathlib import Path

import pytest

from hbtable.hbase.admin.structs import AdminMutation
from hbtable.shell.copying.columns import lifetime_of
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer import sequence_file
from hbtable.shell.transfer.hbase_exports import read_results
from hbtable.shell.transfer.records import BadRecord
from tests.golden.make_hbase_exports import ARCHIVE, EXPORTS, MORTAL

PLAIN = sorted(EXPORTS.keys() - {"deletes", "tags"})
Cell = tuple[bytes, bytes, int, bytes]


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "hbase-exports"


@pytest.fixture(scope="module")
def expected(exports: Path) -> list[Cell]:
    decoded = base64.b64decode
    found = json.loads((exports / "expected.json").read_text())
    return [(decoded(row), decoded(column), time, decoded(value)) for row, column, time, value in found]


@pytest.fixture
def copied(exports: Path, tmp_path: Path) -> Path:
    """Folders that a test may change."""
    return shutil.copytree(exports, tmp_path / "exports")


def cells_of(found: AdminMutation) -> list[Cell]:
    return [
        (found.row, one.family + b":" + one.qualifier, one.timestamp, bytes(one.value))
        for one in found.operations or ()
    ]


def read(path: Path) -> tuple[list[Cell], list[BadRecord]]:
    cells: list[Cell] = []
    bad = []
    for found, _ in read_results(path, 0):
        if isinstance(found, BadRecord):
            bad.append(found)
        else:
            cells += cells_of(found)
    return cells, bad


def read_or_refused(path: Path) -> tuple[list[Cell], list[BadRecord], str]:
    """What it is refused for, in the end."""
    try:
        return (*read(path), "")
    except ArgumentError as error:
        return [], [], str(error)


def rows(path: Path, offset: int) -> list[tuple[bytes, int]]:
    return [(found.row, number) for found, number in read_results(path, offset) if isinstance(found, AdminMutation)]


def refused(path: Path) -> str:
    with pytest.raises(ArgumentError) as raised:
        read(path)
    return str(raised.value)


@pytest.mark.parametrize("name", sorted(EXPORTS.keys() - {"deletes"}))
def test_an_export_holds_the_table(exports: Path, expected: list[Cell], name: str) -> None:
    assert len(expected) > 1000
    assert read(exports / name) == (expected, [])


def test_times_to_live_come_with_tags(exports: Path) -> None:
    lives = {
        found.row: {lifetime_of(one.value) for one in found.operations or ()}
        for found, _ in read_results(exports / "tags", 0)
        if not isinstance(found, BadRecord)
    }
    assert lives.pop(MORTAL[0]) == {MORTAL[1]}
    assert set().union(*lives.values()) == {0}


def test_a_row_with_deletes_is_refused(exports: Path, expected: list[Cell]) -> None:
    cells, [bad] = read(exports / "deletes")
    assert "a cell of type" in str(bad)
    assert "row0001 has in column f:a" in str(bad)
    assert "hbase.mapreduce.include.deleted.rows" in str(bad)
    assert [cell for cell in cells if cell in set(expected)] == [cell for cell in expected if cell[0] != b"row0001"]


@pytest.mark.parametrize("name", ["none", "block"])
def test_reading_goes_on_behind_any_record(exports: Path, name: str) -> None:
    whole = rows(exports / name, 0)
    assert [number for _, number in whole] == list(range(1, 104))
    for offset in range(len(whole) + 1):
        assert rows(exports / name, offset) == whole[offset:]


def test_a_long_row_comes_in_pieces(exports: Path, expected: list[Cell], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is broken off within a row begins with the whole row again."""
    monkeypatch.setattr("hbtable.shell.transfer.pieces._PIECE_CELLS", 7)
    pieces = [
        (found, number) for found, number in read_results(exports / "none", 0) if isinstance(found, AdminMutation)
    ]
    wide = [(len(found.operations or ()), number) for found, number in pieces if found.row == b"wide"]
    assert [count for count, _ in wide] == [7] * 28 + [4]
    assert {number for _, number in wide[:-1]} == {wide[-1][1] - 1}
    assert [cell for found, _ in pieces for cell in cells_of(found)] == expected


@pytest.mark.parametrize("name", PLAIN)
def test_a_file_that_ends_too_early_is_told(copied: Path, expected: list[Cell], name: str) -> None:
    """Unless it ends behind a record: then only the checksums beside it know."""
    part = copied / name / "part-m-00001"
    whole = part.read_bytes()
    checksums = part.with_name(f".{part.name}.crc")
    assert refused_when_cut(part, whole, len(whole) - 1).startswith(f"{part} is damaged between byte ")
    assert "has checksums of more" in refused_when_cut(part, whole, 512)
    checksums.unlink()
    draw = random.Random(name)
    second, _ = read(part)
    assert second == expected[-len(second) :]
    silent = 0
    for size in {*range(40), *(draw.randrange(len(whole)) for _ in range(150)), len(whole) - 1}:
        part.write_bytes(whole[:size])
        cells, bad, told = read_or_refused(part)
        if told:
            assert told.startswith((f"{part} is damaged in its beginning", f"{part} is no SequenceFile"))
            continue
        assert cells == second[: len(cells)]
        silent += not bad
        for one in bad:
            assert re.fullmatch(rf"{re.escape(str(part))}, byte \d+", one.place)
            assert "fetch it again" in str(one)
    assert silent < 20


def refused_when_cut(part: Path, whole: bytes, size: int) -> str:
    part.write_bytes(whole[:size])
    told = refused(part)
    part.write_bytes(whole)
    return told


@pytest.mark.parametrize("name", PLAIN)
def test_a_changed_byte_is_told_by_the_checksums(copied: Path, name: str) -> None:
    part = copied / name / "part-m-00000"
    whole = part.read_bytes()
    draw = random.Random(name)
    for _ in range(100):
        place = draw.randrange(200, len(whole))
        part.write_bytes(changed(whole, place, draw))
        told = refused(copied / name)
        found = re.match(rf"{re.escape(str(part))} is damaged between byte ([\d,]+) and ([\d,]+)", told)
        assert found is not None, told
        first, behind = (int(one.replace(",", "")) for one in found.groups())
        assert first <= place < behind


@pytest.mark.parametrize("name", ["record", "block", "bzip2"])
def test_a_changed_byte_of_what_is_compressed_is_told_without_them(
    copied: Path, expected: list[Cell], name: str
) -> None:
    """Keys of single records are not compressed, but stand in their cells, too."""
    part = copied / name / "part-m-00000"
    part.with_name(f".{part.name}.crc").unlink()
    whole = part.read_bytes()
    draw = random.Random(name)
    sound = set(expected)
    goes_on = 0
    for _ in range(80):
        part.write_bytes(changed(whole, draw.randrange(len(whole)), draw))
        cells, bad, told = read_or_refused(part)
        assert not told or str(part) in told
        assert set(cells) <= sound
        goes_on += bool(bad) and bool(cells)
    assert goes_on > 40  # behind the damage


def test_no_changed_byte_ends_in_a_trace(copied: Path) -> None:
    for name in PLAIN:
        part = copied / name / "part-m-00000"
        part.with_name(f".{part.name}.crc").unlink()
        whole = part.read_bytes()
        draw = random.Random(name)
        for _ in range(80):
            damaged = bytearray(whole)
            for _ in range(draw.choice((1, 1, 5, 50))):
                damaged[draw.randrange(len(damaged))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
            part.write_bytes(damaged)
            read_or_refused(part)


def changed(whole: bytes, place: int, draw: random.Random) -> bytes:
    damaged = bytearray(whole)
    damaged[place] ^= 1 << draw.randrange(8)
    return bytes(damaged)


def test_reading_goes_on_at_the_next_mark(copied: Path, expected: list[Cell]) -> None:
    part = copied / "none" / "part-m-00000"
    part.with_name(f".{part.name}.crc").unlink()
    whole = bytearray(part.read_bytes())
    begins = whole.index((5).to_bytes(4, "big") + b"large") - 8
    whole[begins : begins + 4] = b"\x7f\xff\xff\xff"
    part.write_bytes(whole)
    cells, [bad] = read(copied / "none")
    assert bad.place == f"{part}, byte {begins}"
    assert "2,147,483,647 bytes belong at byte" in str(bad)
    assert cells == [cell for cell in expected if cell[0] != b"large"]
    assert json.loads(bad.raw)["byte"] == begins


def test_what_is_no_export_is_refused_by_its_name(copied: Path, tmp_path: Path) -> None:
    folder = copied / "none"
    part = folder / "part-m-00000"
    whole = part.read_bytes()
    other = tmp_path / "other"
    for data, told in (
        (b"", "is damaged in its beginning, at byte 0: 4 bytes belong at byte 0, and the file has 0 from there on"),
        (b"PAR1", "is no SequenceFile: it begins with b'PAR1' and not with b'SEQ'"),
        (b"SEQ\x05" + whole[4:], "is a SequenceFile of version 5, and this reads 6 alone"),
        (whole.replace(b"client.Result", b"client.Rabult"), "holds org.apache.hadoop.hbase.io.ImmutableBytesWritable"),
    ):
        other.write_bytes(data)
        assert f"{other} {told}" in refused(other)
    compressed = (copied / "block" / part.name).read_bytes()
    other.write_bytes(compressed.replace(b"compress.DefaultCodec", b"compress.UnknownCodec"))
    assert f"{other} is compressed by org.apache.hadoop.io.compress.UnknownCodec, and this reads " in refused(other)
    assert "export with -D mapreduce.output.fileoutputformat.compress.codec=org.apache" in refused(other)
    (folder / "_SUCCESS").unlink()
    assert f"{folder} has no _SUCCESS, which HBase's Export makes when it is whole" in refused(folder)
    part.unlink()
    part.with_name("part-m-00001").unlink()
    assert f"{folder} has no files" in refused(folder)


def test_files_are_open_one_at_a_time(copied: Path, expected: list[Cell]) -> None:
    """A table has a file for each of its regions, and a process some hundreds of open files."""
    folder = copied / "record"
    for number in range(2, 40):
        shutil.copy(folder / "part-m-00001", folder / f"part-m-{number:05}")
    before = len(os.listdir("/proc/self/fd"))
    rows_read = 0
    for _ in read_results(folder, 0):
        rows_read += 1
        assert len(os.listdir("/proc/self/fd")) <= before + 3
    assert rows_read > 39 * 30


def test_gzip_is_read(copied: Path, expected: list[Cell], monkeypatch: pytest.MonkeyPatch) -> None:
    """Hadoop writes it with native libraries alone, so the file is made of one that it wrote."""
    deflated = (copied / "block" / "part-m-00001").read_bytes()
    kept = sequence_file._UNPACK

    def again(data: bytes) -> bytes:
        made = zlib.compressobj(wbits=zlib.MAX_WBITS + 16)
        return kept["org.apache.hadoop.io.compress.GzipCodec"](made.compress(zlib.decompress(data)) + made.flush())

    monkeypatch.setitem(kept, "org.apache.hadoop.io.compress.DefaultCodec", again)
    other = copied / "gzip"
    other.write_bytes(deflated)
    cells, bad = read(other)
    assert (cells, bad) == (expected[-len(cells) :], [])


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "00"), (127, "7f"), (-112, "90"), (-1, "ff"), (128, "8f80"), (255, "8fff"), (256, "8e0100"),
        (-113, "8770"), (-256, "87ff"), (-257, "860100"), (2**63 - 1, "887fffffffffffffff"),
        (-(2**63), "807fffffffffffffff"),
    ],
)  # fmt: skip
def test_numbers_are_those_of_writable_utils(number: int, written: str) -> None:
    data = bytes.fromhex(written)
    assert sequence_file._bytes_of(data[0]) == len(data)
    assert sequence_file._short(data, 0) == (number, len(data))

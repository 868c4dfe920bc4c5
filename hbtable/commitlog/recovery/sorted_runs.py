"""A run: the records of consecutive segments, sorted (paper, section 6). One piece per tablet, found through an index.

    piece*     concatenated records of one tablet, by row, then sequence
    index      per tablet, ascending: tablet id (8)  offset (8)  bytes (4)  piece crc (4)  first sequence (8)
               last sequence (8)
    footer     "BtLogRun" (8)  version (2)  reserved (2)  tablets (4)  index crc (4)  footer crc (4)

Big-endian. The file of a run is named after its content, <folder>/sorted/<first segment, 10 digits>-<footer crc>.run,
so that two sorters at work on the same log never change each other's files. <folder>/sorted/complete names the runs
that count, and is written last:

    "BtLogSrt" (8)  version (2)  reserved (2)  runs (4), per run: first segment (8)  last segment (8)  footer crc (4)
    bytes (8);  crc32 of all

Version 1 of the list said only segment (4), for each run was of one. Version 3 is written for a log that was damaged,
and for no other: between the runs and the checksum it has the gaps, as JSON (gaps.py), and their length (4) before. An
older hbtable refuses it: it would take what is left for all there was. A group file (group_file.py) counts as the
segment of its LSN.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from hbtable.commitlog.recovery.gaps import Gap, decode_gaps, encode_gaps
from hbtable.crc32 import crc32
from hbtable.errors import Corruption, UnsupportedFormat

RUN_MAGIC: Final = b"BtLogRun"
LIST_MAGIC: Final = b"BtLogSrt"
VERSION: Final = 1
LIST_VERSION: Final = 2
GAPS_VERSION: Final = 3

_ENTRY: Final = struct.Struct(">QQIIQQ")
_FOOTER: Final = struct.Struct(">8sHHII")
_LIST_HEAD: Final = struct.Struct(">8sHHI")
_LIST_ENTRY: Final = struct.Struct(">QQIQ")
_LIST_ENTRY_1: Final = struct.Struct(">IIQ")
_LENGTH: Final = struct.Struct(">I")
_CHECKSUM: Final = struct.Struct(">I")
FOOTER_BYTES: Final = _FOOTER.size + _CHECKSUM.size
ENTRY_BYTES: Final = _ENTRY.size


class RunPiece(NamedTuple):
    """The place of a tablet's records in a run."""

    tablet_id: int
    offset: int
    length_bytes: int
    checksum: int
    first_sequence: int
    last_sequence: int


class SortedRun(NamedTuple):
    """A finished run, as the list names it: of the segments from `first` to `last`."""

    first: int
    last: int
    footer_checksum: int
    length_bytes: int


def sorted_folder(folder: str) -> str:
    """The folder with the sorted runs of the log in `folder`, and with their list."""
    return f"{folder}/sorted"


def list_path(folder: str) -> str:
    return f"{folder}/sorted/complete"


def run_path(folder: str, run: SortedRun) -> str:
    return f"{folder}/sorted/{run.first:010d}-{run.footer_checksum:08x}.run"


def encode_end(pieces: list[RunPiece]) -> bytes:
    """Index and footer; the last 4 bytes are the footer checksum."""
    index = b"".join(_ENTRY.pack(*piece) for piece in pieces)
    footer = _FOOTER.pack(RUN_MAGIC, VERSION, 0, len(pieces), crc32(index))
    return index + footer + _CHECKSUM.pack(crc32(footer))


def decode_footer(footer: bytes, run: SortedRun, path: str) -> tuple[int, int]:
    """(index bytes, index checksum) from the last FOOTER_BYTES of a run."""
    offset = run.length_bytes - FOOTER_BYTES
    fixed = footer[: _FOOTER.size]
    if _CHECKSUM.pack(crc32(fixed)) != footer[_FOOTER.size :] or crc32(fixed) != run.footer_checksum:
        raise Corruption(path, offset, "the footer of a sorted run fails its checksum")
    magic, version, reserved, tablets, checksum = _FOOTER.unpack(fixed)
    if magic != RUN_MAGIC:
        raise Corruption(path, offset, "not a sorted run")
    _check_version(version, VERSION, reserved, path)
    return tablets * ENTRY_BYTES, checksum


def decode_index(index: bytes, checksum: int, path: str, offset: int) -> list[RunPiece]:
    if crc32(index) != checksum:
        raise Corruption(path, offset, "the index of a sorted run fails its checksum")
    return [RunPiece(*fields) for fields in _ENTRY.iter_unpack(index)]


def encode_list(runs: list[SortedRun], gaps: Sequence[Gap] = ()) -> bytes:
    """The runs in log order."""
    head = _LIST_HEAD.pack(LIST_MAGIC, GAPS_VERSION if gaps else LIST_VERSION, 0, len(runs))
    body = head + b"".join(_LIST_ENTRY.pack(*run) for run in runs)
    if gaps:
        encoded = encode_gaps(gaps)
        body += _LENGTH.pack(len(encoded)) + encoded
    return body + _CHECKSUM.pack(crc32(body))


def decode_list(buffer: bytes, path: str) -> list[SortedRun]:
    return decode_list_and_gaps(buffer, path)[0]


def decode_list_and_gaps(buffer: bytes, path: str) -> tuple[list[SortedRun], list[Gap]]:
    body = buffer[:-4]
    if len(body) < _LIST_HEAD.size or _CHECKSUM.pack(crc32(body)) != buffer[-4:]:
        raise Corruption(path, 0, "the list of sorted runs fails its checksum")
    magic, version, reserved, count = _LIST_HEAD.unpack_from(body)
    if magic != LIST_MAGIC:
        raise Corruption(path, 0, "not a list of sorted runs")
    _check_version(version, GAPS_VERSION, reserved, path)
    entries, gaps = body[_LIST_HEAD.size :], list[Gap]()
    if version == GAPS_VERSION:
        end = count * _LIST_ENTRY.size
        size = int.from_bytes(entries[end : end + _LENGTH.size], "big")
        if len(entries) != end + _LENGTH.size + size:
            raise Corruption(path, _LIST_HEAD.size + end, "the gaps have another length than the list says")
        gaps = decode_gaps(entries[end + _LENGTH.size :], path)
        entries = entries[:end]
    entry = _LIST_ENTRY_1 if version == 1 else _LIST_ENTRY
    if len(entries) != count * entry.size:
        raise Corruption(path, _LIST_HEAD.size, f"the list names {count} runs and has another length")
    if version == 1:
        return [SortedRun(segment, segment, *rest) for segment, *rest in entry.iter_unpack(entries)], gaps
    return [SortedRun(*fields) for fields in entry.iter_unpack(entries)], gaps


def _check_version(version: int, newest: int, reserved: int, path: str) -> None:
    if version > newest:
        raise UnsupportedFormat(f"{path} is of format {version}; this hbtable reads up to {newest}")
    if reserved:
        raise UnsupportedFormat.unknown(path, "reserved number", reserved, 0)

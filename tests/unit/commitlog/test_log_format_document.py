"""docs/formats.md shows the very bytes that the code reads and writes."""

import re
from pathlib import Path

from hbtable.commitlog import groups
from hbtable.commitlog.group_files import group_file
from hbtable.commitlog.records import LogRecord, encode_record
from hbtable.commitlog.recovery import sorted_runs
from hbtable.commitlog.recovery.fencing import fence, give_up, marker_path
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.commitlog.recovery.manifest import LogFile, Manifest, decode_manifest, encode_manifest
from hbtable.commitlog.recovery.recovered_edits import recovered
from hbtable.commitlog.segments import segment
from hbtable.commitlog.segments.high_water import HighWater, decode_high_water, encode_high_water
from hbtable.encoding.cell_key import cell_key
from hbtable.fs.interface import HDFS
from tests.harness.sorted_log import sort_log

ROOT = Path(__file__).resolve().parents[3]
FOLDER = "logs/s1"
KEY = cell_key(b"r", b"f", b"q", 1_700_000_000_123, 8, 7)
RECORD = LogRecord(20, 3, 7, 1_700_000_000_123, [(KEY, b"v")])


def _example(name: str) -> bytes:
    block = re.search(rf"```{name}\n(.*?)```", (ROOT / "docs" / "formats.md").read_text(), re.DOTALL)
    assert block is not None
    example = b""
    for line in block[1].splitlines():
        offset, _, rest = line.partition("  ")
        assert int(offset, 16) == len(example)
        example += bytes.fromhex(rest[:47].strip())
    return example


def test_the_segment_reads_as_the_text_says(bench) -> None:
    def main() -> list[LogRecord]:
        bench.memory.write_file(f"{FOLDER}/0000000001.log", _example("segment"))
        sort_log(bench.runtime, bench.memory, FOLDER)
        return list(recovered(bench.memory, FOLDER, 20, 0))

    assert bench.run(main) == [RECORD]
    files = {path: bytes(file.content) for path, file in bench.memory.disk.files.items()}
    run = next(path for path in files if path.endswith(".run"))
    assert files[run] == _example("run")
    assert files[f"{FOLDER}/sorted/complete"] == _example("list")
    assert run[-12:-4] == _example("run")[-4:].hex()
    assert sorted_runs.decode_list(_example("list"), "p")[0][:2] == (1, 1)


def test_the_code_writes_the_segment_of_the_text() -> None:
    header = segment.SegmentHeader("s1", "sync", 1, 0, 0, 1, 0, 1, 1_700_000_000_000)
    written = segment.encode_header(header)
    seed = segment.seed("s1", 1)
    written += groups.frame(seed, len(written), 1, 0, 1, encode_record(*RECORD))
    written += groups.frame(seed, len(written), 2, 1, 1, b"", groups.MARKER | groups.CLEAN_END)
    assert written == _example("segment")


def test_a_list_with_gaps_reads_and_is_written_as_the_text_says() -> None:
    found, gaps = sorted_runs.decode_list_and_gaps(_example("list-with-gaps"), "p")
    assert found == sorted_runs.decode_list(_example("list"), "p")
    assert gaps == [Gap(f"{FOLDER}/0000000001.log", 68, 183, 1, 1, {20: 7}, {}, None)]
    assert sorted_runs.encode_list(found, gaps) == _example("list-with-gaps")


def test_the_high_water_mark_reads_and_is_written_as_the_text_says() -> None:
    mark = HighWater(2, 1, 223, 1_700_000_000_123, {20: 7})
    assert decode_high_water(_example("high-water"), "p") == mark
    assert encode_high_water(mark) == _example("high-water")


def test_the_manifest_reads_and_is_written_as_the_text_says() -> None:
    manifest = Manifest("s1", HDFS, (LogFile("0000000001.log", 223), LogFile("0000000002.log", 68)))
    assert decode_manifest(_example("manifest"), FOLDER) == manifest
    assert encode_manifest(manifest) == _example("manifest")


def test_the_markers_are_written_as_the_text_says(bench) -> None:
    class Shared:
        log_kind = HDFS

        def __getattr__(self, name: str) -> object:
            return getattr(bench.memory, name)

    def main() -> bytes:
        bench.memory.write_file(f"{FOLDER}/0000000001.log", _example("segment"))
        fence(bench.runtime, Shared(), "s1")
        assert bench.memory.read_file(marker_path("s1")) == b""
        give_up(bench.runtime, Shared(), "s1")
        return bench.memory.read_file(marker_path("s1"))

    marker, shown = bench.run(main), _example("marker")
    assert (marker[:8], marker[16:]) == (shown[:8], shown[16:])
    assert int.from_bytes(shown[8:16], "big") == 1_700_000_000_000


def test_a_group_file_reads_and_is_written_as_the_text_says() -> None:
    name = group_file.GroupName(2, 0, 1)
    example = _example("group-file")
    group = group_file.decode_group_file(example, "the document", "s1", name)
    assert group == group_file.GroupFile("s1", 2, 0, 1, 1, 1, 0, 1_700_000_000_000)
    assert group_file.encode_group_file(group, encode_record(*RECORD)) == example
    assert group_file.group_path(FOLDER, name) == "logs/s1/0000000002.0.1.grp"
    assert group_file.group_name(FOLDER, "logs/s1/0000000002.0.1.grp") == name

from zlib import crc32

import pytest

from hbtable.commitlog.groups import frame
from hbtable.commitlog.recovery.fencing import FencingOptions, fence, give_up, is_fenced, marker_path
from hbtable.commitlog.recovery.manifest import (
    LogFile,
    Manifest,
    decode_manifest,
    encode_manifest,
    manifest_path,
    published,
)
from hbtable.commitlog.recovery.reading import log_segments, read_log
from hbtable.commitlog.segments.segment import SegmentHeader, encode_header, seed
from hbtable.errors import Corruption, Stalled, StorageFailed, Unavailable, UnsupportedFormat
from hbtable.fs.interface import HDFS, WEBHDFS
from hbtable.fs.memory import MemoryFileSystem

NAME = "server-1"
FOLDER = f"logs/{NAME}"


class Crash(Exception):
    """The fencer's process is gone."""


class Shared:
    """A memory file system as another kind. `steps` counts the calls that change or look at something; `trouble` may
    raise before or after each of them."""

    def __init__(self, memory: MemoryFileSystem, kind: str = HDFS, trouble=lambda number, call, after: None) -> None:
        self.memory = memory
        self.log_kind = kind
        self.trouble = trouble
        self.steps = 0

    def __getattr__(self, name):
        method = getattr(self.memory, name)

        def call(*arguments):
            self.steps += 1
            step = self.steps
            self.trouble(step, name, False)
            answer = method(*arguments)
            self.trouble(step, name, True)
            return answer

        return call


def _log(fs, *contents: bytes) -> None:
    for number, content in enumerate(contents, 1):
        fs.write_file(f"{FOLDER}/{number:010d}.log", content)


def _append(file, content: bytes) -> None:
    file.append(content)
    file.sync()


def test_a_log_is_marked_sealed_and_named_file_by_file(bench) -> None:
    def main() -> None:
        file = bench.memory.create(f"{FOLDER}/0000000001.log")
        file.append(b"abc")
        file.sync()
        fs = Shared(bench.memory)
        assert not is_fenced(fs, NAME)
        assert fence(bench.runtime, fs, NAME) == Manifest(NAME, HDFS, (LogFile("0000000001.log", 3),))
        assert is_fenced(fs, NAME)
        with pytest.raises(StorageFailed):
            _append(file, b"d")
        # Whatever appears later is no part of the log, for anyone.
        bench.memory.write_file(f"{FOLDER}/0000000002.log", b"late")
        assert fence(bench.runtime, fs, NAME).files == (LogFile("0000000001.log", 3),)

    bench.run(main)


def test_the_marker_stands_before_the_log_is_listed(bench) -> None:
    seen = []

    def trouble(_number: int, call: str, after: bool) -> None:
        if call == "list_files" and not after:
            seen.append(bench.memory.exists(marker_path(NAME)))

    def main() -> None:
        _log(bench.memory, b"one")
        fence(bench.runtime, Shared(bench.memory, HDFS, trouble), NAME)

    bench.run(main)
    assert seen == [True]


@pytest.mark.parametrize("kind", [HDFS, WEBHDFS])
def test_a_fencer_may_die_anywhere_and_every_later_one_finds_the_same_log(bench_of, kind) -> None:
    died = 0
    for step in range(1, 100):
        for late in (False, True):
            bench = bench_of(step)

            def main(bench=bench, step=step, late=late) -> bool:
                def trouble(number: int, _call: str, after: bool) -> None:
                    if (number, after) == (step, late):
                        raise Crash

                _log(bench.memory, b"one", b"two")
                try:
                    fence(bench.runtime, Shared(bench.memory, kind, trouble), NAME)
                    crashed = False
                except Crash:
                    crashed = True
                settled = published(Shared(bench.memory, kind), FOLDER)
                bench.memory.write_file(f"{FOLDER}/0000000003.log", b"of a zombie, not acknowledged")
                manifest = fence(bench.runtime, Shared(bench.memory, kind), NAME)
                assert settled in (None, manifest)
                assert {file.name[:10] for file in manifest.files} >= {"0000000001", "0000000002"}
                assert fence(bench.runtime, Shared(bench.memory, kind), NAME) == manifest
                return crashed

            died += bench.run(main)
    assert 12 < died < 50


@pytest.mark.parametrize("seed", range(30))
def test_answers_that_never_come_are_resolved_by_looking_and_two_fencers_agree(bench_of, seed) -> None:
    bench = bench_of(seed)

    def trouble(_number: int, call: str, _after: bool) -> None:
        if call in ("put_new", "rename", "status", "seal", "read_file") and bench.runtime.random.random() < 0.3:
            raise Stalled("no answer; it may have happened")
        bench.runtime.sleep(bench.runtime.random.random() / 10)

    def main() -> None:
        _log(bench.memory, b"one", b"two")
        found = []

        def fencer() -> None:
            found.append(fence(bench.runtime, Shared(bench.memory, HDFS, trouble), NAME))

        tasks = [bench.runtime.spawn(fencer) for _ in range(3)]
        for task in tasks:
            task.join()
            assert task.error is None
        assert found[0] == found[1] == found[2] == published(bench.memory, FOLDER)
        assert len(found[0].files) == 2

    bench.run(main)


def test_a_listing_that_fails_publishes_nothing(bench) -> None:
    def trouble(_number: int, call: str, _after: bool) -> None:
        if call == "list_files":
            raise Unavailable("not now")

    def main() -> None:
        _log(bench.memory, b"one")
        fs = Shared(bench.memory, HDFS, trouble)
        with pytest.raises(Unavailable):
            fence(bench.runtime, fs, NAME, FencingOptions(patience_seconds=1))
        assert published(fs, FOLDER) is None
        assert is_fenced(fs, NAME)

    bench.run(main)


def test_a_file_that_its_writer_deletes_meanwhile_is_left_out(bench) -> None:
    def trouble(_number: int, call: str, after: bool) -> None:
        if call == "list_files" and after:
            bench.memory.delete(f"{FOLDER}/0000000001.log")

    def main() -> None:
        _log(bench.memory, b"one", b"two")
        manifest = fence(bench.runtime, Shared(bench.memory, HDFS, trouble), NAME)
        assert [file.name for file in manifest.files] == ["0000000002.log"]

    bench.run(main)


def test_a_put_that_is_seen_and_comes_to_nothing_fences_nobody(bench) -> None:
    """WebHDFS shows a file while it is put; whoever took that for the marker would list a log that still goes on."""

    class Dwindling(Shared):
        """Its first file is there, empty, for a second."""

        def put_new(self, path: str, content: bytes) -> None:
            self.steps += 1
            if self.steps > 1:
                self.memory.put_new(path, content)
                return
            self.memory.write_file(path, b"")
            bench.runtime.sleep(1)
            self.memory.delete(path)
            raise Stalled("no answer")

        def __getattr__(self, name):
            return getattr(self.memory, name)

    def main() -> None:
        _log(bench.memory, b"one")
        first = bench.runtime.spawn(fence, bench.runtime, Dwindling(bench.memory, WEBHDFS), NAME)
        bench.runtime.sleep(0.5)
        fence(bench.runtime, Shared(bench.memory, WEBHDFS), NAME)
        for _ in range(100):
            assert is_fenced(bench.memory, NAME)
            bench.runtime.sleep(0.01)
        assert first.join(10)
        assert first.error is None

    bench.run(main)


def test_unknown_is_not_unfenced(bench) -> None:
    def trouble(_number: int, _call: str, _after: bool) -> None:
        raise Unavailable("not now")

    with pytest.raises(Unavailable):
        bench.run(is_fenced, Shared(bench.memory, HDFS, trouble), NAME)


def test_a_log_that_is_not_fenced_is_not_read(bench) -> None:
    def main() -> None:
        _log(bench.memory, b"one")
        with pytest.raises(Unavailable):
            log_segments(Shared(bench.memory), FOLDER)

    bench.run(main)


def test_a_log_of_this_machine_gets_neither_marker_nor_manifest(bench) -> None:
    def main() -> None:
        _log(bench.memory, b"one")
        assert fence(bench.runtime, bench.memory, NAME).files == (LogFile("0000000001.log", 3),)
        assert not bench.memory.exists(marker_path(NAME))
        assert not bench.memory.exists(manifest_path(FOLDER))

    bench.run(main)


def test_every_flipped_bit_and_every_cut_of_a_manifest_is_noticed() -> None:
    manifest = Manifest(NAME, WEBHDFS, (LogFile("0000000001.0.1.grp", 100), LogFile("0000000002.0.1.grp", 2**40)))
    encoded = encode_manifest(manifest)
    assert decode_manifest(encoded, FOLDER) == manifest
    for bit in range(len(encoded) * 8):
        damaged = bytearray(encoded)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Corruption):
            decode_manifest(bytes(damaged), FOLDER)
    for length in range(len(encoded)):
        with pytest.raises(Corruption):
            decode_manifest(encoded[:length], FOLDER)
    with pytest.raises(Corruption):
        decode_manifest(encoded, "logs/server-2")


def test_a_manifest_of_a_newer_version_is_left_alone() -> None:
    encoded = bytearray(encode_manifest(Manifest(NAME, HDFS, ()))[:-4])
    encoded[9] = 2
    with pytest.raises(UnsupportedFormat):
        decode_manifest(bytes(encoded) + crc32(encoded).to_bytes(4, "big"), FOLDER)


def test_a_log_whose_first_segment_was_given_up_begins_with_another(bench, record_of) -> None:
    def header(number: int) -> bytes:
        return encode_header(SegmentHeader(NAME, "sync", number, 0, 0, 1, 0, 1, 0))

    def main() -> None:
        second = header(2)
        second += frame(seed(NAME, 2), len(second), 1, 0, 1, record_of(7, 1))
        _log(bench.memory, header(1)[:10], second)
        assert [record.tablet_id for record in read_log(bench.memory, FOLDER)] == [7]

    bench.run(main)


@pytest.mark.parametrize("kind", [HDFS, WEBHDFS])
def test_a_log_that_was_given_up_is_empty_for_everyone_and_stays_fenced(bench, kind) -> None:
    def main() -> None:
        fs = Shared(bench.memory, kind)
        _log(bench.memory, b"one", b"two")
        assert len(fence(bench.runtime, fs, NAME).files) == 2
        give_up(bench.runtime, fs, NAME)
        assert is_fenced(fs, NAME)
        empty = Manifest(NAME, kind, (), given_up=True)
        assert fence(bench.runtime, fs, NAME) == empty  # though a manifest says otherwise
        bench.memory.delete_folder(FOLDER)
        _log(bench.memory, b"late")
        assert fence(bench.runtime, fs, NAME) == empty

    bench.run(main)

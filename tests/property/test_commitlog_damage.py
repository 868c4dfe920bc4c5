"""The commit log under every crash and every damaged byte.

A small log is written with all file operations noted in order. From that, every state a crash could leave is built:
cut after each operation, the unsynced appends cut at every byte, the cut piece filled with zeros or garbage. Whatever
was acknowledged before the crash must be recovered, in order, and behind it nothing but what was still waiting.
"""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.recovery.recovered_edits import recovered
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.errors import Corruption, FileNotFound, OutOfSpace, Unavailable
from hbtable.fs.interface import LOCAL, FileStatus
from hbtable.metrics.registry import Registry
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.sorted_log import sort_log
from tests.harness.tiers import generated

pytestmark = pytest.mark.slow

FOLDER = "logs/s1"
Change = tuple[int, int]


class NotingFile:
    def __init__(self, system: "NotingFileSystem", path: str) -> None:
        self.path = path
        self._system = system

    def append(self, data: bytes) -> None:
        room = self._system.room.pop(0) if self._system.room else None
        self._system.note(("append", self.path, data if room is None else data[:room]))
        if room is not None:
            raise OutOfSpace("no room")

    def sync(self) -> None:
        length = len(self._system.files[self.path])
        self._system.runtime.offload("log-sync", lambda: None)
        self._system.note(("sync", self.path, length))

    def close(self) -> None: ...


class NotingFileSystem:
    """Notes what happens; reads the state that the notes so far lead to. `room`: how much of the next appends fits."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.runtime = runtime
        self.notes: list[tuple[str, object, object]] = []
        self.files: dict[str, bytearray] = {}
        self.room: list[int] = []

    def note(self, what: tuple[str, object, object]) -> None:
        self.notes.append(what)
        happen(self.files, what)

    def create(self, path: str) -> NotingFile:
        self.note(("create", path, b""))
        return NotingFile(self, path)

    def delete(self, path: str) -> None:
        self.note(("delete", path, b""))

    def list_files(self, folder: str) -> list[FileStatus]:
        return Frozen(self.files).list_files(folder)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(name)


class Frozen:
    """What a recovery finds."""

    log_kind = LOCAL

    def __init__(self, files: dict[str, bytearray] | dict[str, bytes]) -> None:
        self.files = {path: bytes(content) for path, content in files.items()}

    def list_files(self, folder: str) -> list[FileStatus]:
        return [FileStatus(p, len(c), 0) for p, c in sorted(self.files.items()) if p.startswith(folder + "/")]

    def read_file(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFound(path)
        return self.files[path]

    def open(self, path: str) -> "FrozenFile":
        return FrozenFile(self.read_file(path))

    def status(self, path: str) -> FileStatus:
        return FileStatus(path, len(self.read_file(path)), 0)

    def exists(self, path: str) -> bool:
        return path in self.files

    def write_file(self, path: str, data: bytes) -> None:
        self.files[path] = data


class FrozenFile:
    def __init__(self, content: bytes) -> None:
        self._content = content

    @property
    def length_bytes(self) -> int:
        return len(self._content)

    def read_at(self, offset: int, size: int) -> bytes:
        if offset + size > len(self._content):
            raise Corruption("file", offset, "short")
        return self._content[offset : offset + size]

    def close(self) -> None: ...


def happen(files: dict[str, bytearray], what: tuple[str, object, object]) -> None:
    kind, path, argument = what
    if kind in ("called", "ack", "refused"):
        return
    assert isinstance(path, str)
    if kind == "create":
        files[path] = bytearray()
    elif kind == "append":
        files[path] += argument
    elif kind == "delete":
        del files[path]


class Story:
    """A log as it was written: notes, and every change in the order of the calls to commit()."""

    def __init__(self, seed: int, durability: str, clean: bool, refusals: bool) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.fs = NotingFileSystem(self.runtime)
        self.called: list[Change] = []
        self.refused: set[Change] = set()
        self.runtime.run(self._write, random.Random(seed), durability, clean, refusals)

    def _write(self, chance: random.Random, durability: str, clean: bool, refusals: bool) -> None:
        options = LogOptions(
            durability=durability,
            segment_bytes=chance.randrange(100, 1500),
            group_bytes=chance.randrange(1, 500),
            sync_every_bytes=chance.randrange(50, 600),
            # What the log tells by itself; with its mark: tests/unit/commitlog/recovery/test_log_salvage.py.
            mark_seconds=0.0,
        )
        log = LogWriter(self.runtime, self.fs, FOLDER, options, Registry())  # type: ignore[arg-type]

        def client(tablet: int) -> None:
            for sequence in range(1, chance.randrange(2, 6)):
                self.runtime.sleep(chance.random() * 0.02)
                change = (tablet, sequence)
                value = b"BtLg" * chance.randrange(3) + chance.randbytes(chance.randrange(40))
                record = encode_record(tablet, 1, sequence, 0, [(b"r\x00\x01f\x00\x00\x01" + bytes(18), value)])
                if refusals and chance.random() < 0.3:
                    self.fs.room += [chance.choice([0, 7, 41, 10_000])] * chance.choice([1, 1, 2])
                self.called.append(change)
                self.fs.note(("called", change, b""))
                try:
                    log.commit(tablet, sequence, record, lambda: None)
                except (OutOfSpace, Unavailable):
                    self.refused.add(change)
                    self.fs.note(("refused", change, b""))
                else:
                    self.fs.note(("ack", change, b""))

        tasks = [self.runtime.spawn(client, tablet) for tablet in range(3)]
        for task in tasks:
            task.join()
            assert task.error is None
        self.fs.room.clear()
        if refusals:
            self.called.append((9, 1))
            self.fs.note(("called", (9, 1), b""))
            log.commit(9, 1, encode_record(9, 1, 1, 0, []), lambda: None)
            self.fs.note(("ack", (9, 1), b""))
        if clean:
            log.close()


def replay(fs: object) -> list[Change]:
    return [(record.tablet_id, record.sequence) for record in read_log(fs, FOLDER)]  # type: ignore[arg-type]


def check_prefix(story: Story, acknowledged: list[Change], found: list[Change]) -> None:
    """All that was acknowledged, and behind it only what was still waiting, in the order of the calls."""
    order = [change for change in story.called if change in set(found)]
    assert found == order, "order, or something that was never written, or twice"
    assert set(acknowledged) <= set(found), "an acknowledged change is missing"
    if acknowledged:
        last = max(found.index(change) for change in acknowledged)
        skipped = set(story.called[: story.called.index(found[last])]) - set(found)
        assert skipped <= story.refused, "a hole in front of an acknowledged change"


def crash_states(
    before: dict[str, bytearray], unsynced: dict[str, int], cut_path: str, chance: random.Random
) -> list[dict[str, bytes]]:
    """Every length that the unsynced end of one file can have after a crash, some with rubbish in place of the rest."""
    states = []
    whole = {path: bytes(content) for path, content in before.items()}
    content = whole[cut_path]
    # The other files, too, may have kept no more than what was synced.
    states.append({path: kept[: unsynced[path]] for path, kept in whole.items()})
    states.append(states[0] | {cut_path: content})
    for length in range(unsynced[cut_path], len(content) + 1):
        states.append(whole | {cut_path: content[:length]})
        if length % 7 == 0:
            states.append(whole | {cut_path: content[:length] + bytes(len(content) - length)})
            states.append(whole | {cut_path: content[:length] + chance.randbytes(len(content) - length)})
    return states


@pytest.mark.parametrize("refusals", [False, True])
@settings(max_examples=generated(12), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_after_a_crash_at_any_byte_everything_acknowledged_is_there(refusals: bool, seed: int) -> None:
    """Durability "sync": a loss of power. A refused change may only show while no later segment cut it off."""
    story = Story(seed, "sync", False, refusals)
    chance = random.Random(seed)
    files: dict[str, bytearray] = {}
    synced: dict[str, int] = {}
    acknowledged: list[Change] = []
    refused: set[Change] = set()
    refused_before: dict[Change, set[Change]] = {}
    gone: set[Change] = set()
    for what in story.fs.notes:
        kind, path, argument = what
        happen(files, what)
        if kind == "called":
            refused_before[path] = set(refused)  # type: ignore[index]
        elif kind == "ack":
            acknowledged.append(path)  # type: ignore[arg-type]
            gone |= refused_before[path]  # type: ignore[index]  # durable behind them: they can never come back
        elif kind == "refused":
            refused.add(path)  # type: ignore[arg-type]
        elif kind == "create":
            synced[str(path)] = 0
        elif kind == "sync":
            synced[str(path)] = int(argument)  # type: ignore[call-overload]
        elif kind == "append":
            for state in crash_states(files, synced, str(path), chance):
                found = replay(Frozen(state))
                check_prefix(story, acknowledged, found)
                assert not gone & set(found), "a refused change came back"
    check_prefix(story, acknowledged, replay(Frozen(files)))
    assert not story.refused & set(replay(Frozen(files)))


@pytest.mark.parametrize("refusals", [False, True])
@settings(max_examples=generated(8), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_os_after_a_loss_of_power_a_prefix_without_holes_is_there(refusals: bool, seed: int) -> None:
    story = Story(seed, "os", False, refusals)
    chance = random.Random(seed)
    files: dict[str, bytearray] = {}
    synced: dict[str, int] = {}
    for what in story.fs.notes:
        kind, path, argument = what
        happen(files, what)
        if kind == "create":
            synced[str(path)] = 0
        elif kind == "sync":
            synced[str(path)] = int(argument)  # type: ignore[call-overload]
        elif kind == "append":
            for state in crash_states(files, synced, str(path), chance):
                found = replay(Frozen(state))
                check_prefix(story, found, found)


def damaged_copies(files: dict[str, bytearray]) -> list[tuple[str, dict[str, bytes]]]:
    whole = {path: bytes(content) for path, content in files.items()}
    copies = []
    for path, content in whole.items():
        for offset in range(len(content)):
            flipped = content[:offset] + bytes([content[offset] ^ 1 << offset % 8]) + content[offset + 1 :]
            copies.append((f"bit of byte {offset} of {path}", whole | {path: flipped}))
    return copies


def last_group(story: Story) -> set[Change]:
    """The changes of the last group that was appended: the only ones no watermark speaks of under "sync"."""
    appended = [str(path) for kind, path, _ in story.fs.notes if kind == "append"]
    content = dict(story.fs.files)
    full = replay(Frozen(content))
    last = next(argument for kind, _, argument in reversed(story.fs.notes) if kind == "append")
    content[appended[-1]] = content[appended[-1]][: -len(last)]  # type: ignore[arg-type]
    return set(full) - set(replay(Frozen(content)))


@pytest.mark.parametrize("clean", [False, True])
@settings(max_examples=generated(12), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_flipped_bit_is_loud_unless_no_watermark_covers_it(clean: bool, seed: int) -> None:
    story = Story(seed, "sync", clean, False)
    full = replay(Frozen(story.fs.files))
    assert full == story.called
    unguarded = set() if clean else last_group(story)
    loud = 0
    for what, copy in damaged_copies(story.fs.files):
        try:
            found = replay(Frozen(copy))
        except Corruption:
            loud += 1
            continue
        assert found == full[: len(found)], what
        assert set(full) - set(found) <= unguarded, what
    assert loud > 100


@pytest.mark.parametrize("durability", ["sync", "os"])
@settings(max_examples=generated(8), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_file_cut_short_or_lost_never_leaves_a_hole(durability: str, seed: int) -> None:
    story = Story(seed, durability, seed % 2 == 0, False)
    whole = {path: bytes(content) for path, content in story.fs.files.items()}
    last = max(whole)
    for path, content in whole.items():
        states: list[tuple[int, dict[str, bytes]]] = [(n, whole | {path: content[:n]}) for n in range(len(content))]
        states.append((-1, {other: kept for other, kept in whole.items() if other != path}))
        for length, state in states:
            _check_cut(story, path == last, length, lambda state=state: replay(Frozen(state)))


def _check_cut(story: Story, is_last: bool, length: int, read: Callable[[], list[Change]]) -> None:
    try:
        found = read()
    except Corruption:
        return
    assert is_last, f"segment cut to {length} bytes in the middle of the log went unnoticed"
    assert found == story.called[: len(found)]


@settings(max_examples=generated(10), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_sorted_and_unsorted_logs_give_each_tablet_the_same(seed: int) -> None:
    story = Story(seed, "sync", False, True)
    frozen = Frozen(story.fs.files)
    full = replay(frozen)
    first = seed % 4
    for _ in range(2):
        for tablet in range(3):
            found = story.runtime.run(lambda t=tablet: list(recovered(frozen, FOLDER, t, first)))  # type: ignore[misc]
            assert [r.sequence for r in found] == [s for t, s in full if t == tablet and s >= first]
        story.runtime.run(sort_log, story.runtime, frozen, FOLDER)

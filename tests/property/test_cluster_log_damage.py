"""The logs of clusters under damage and loss of whole files, and under fencers.

Logs are written in trouble of every kind (stalls, lost answers, refusals), so that they hold all that may lie about:
tries beside each other, void rounds, segments that were left.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.commitlog.recovery.fencing import fence
from hbtable.commitlog.recovery.manifest import LogFile, Manifest
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.recovery.recovered_edits import recovered
from hbtable.errors import Corruption, FileNotFound, LockLost, OutOfSpace, Stalled, StorageFailed, Unavailable
from hbtable.fs.interface import HDFS, WEBHDFS
from hbtable.fs.memory import MemoryFileSystem
from tests.harness.cluster_log import FOLDER, INCARNATION, Change, ClusterLog
from tests.harness.sorted_log import sort_log
from tests.harness.tiers import generated

OPERATIONS = {HDFS: ("create", "append", "sync"), WEBHDFS: ("put_new",)}
kinds = pytest.mark.parametrize("kind", [HDFS, WEBHDFS])
pytestmark = pytest.mark.slow


class Story:
    """A log written in trouble. `calm`: the fence's answers and room are always there."""

    def __init__(self, kind: str, seed: int, refusals: bool = True, clean: bool = False) -> None:
        self.bench = ClusterLog(kind, seed)
        self.random = self.bench.runtime.random
        self.refusals = refusals
        self.stopping = False
        self.bench.run(self._write, clean)

    def _write(self, clean: bool) -> None:
        runtime = self.bench.runtime
        self.log = self.bench.open(segment_bytes=700, group_bytes=200, hedge_seconds=0.1)
        tasks = [runtime.spawn(self.trouble)] + [runtime.spawn(self.client, number) for number in range(3)]
        for task in tasks:
            task.join()
            assert task.error is None
        self.bench.plan.clear()
        self.bench.commit(self.log, 9, 1)
        runtime.sleep(5)
        self.bench.commit(self.log, 9, 2)
        if clean:
            self.log.close()

    def trouble(self) -> None:
        bench, random = self.bench, self.random
        for _ in range(8):
            bench.runtime.sleep(random.random() * 0.05)
            operation = random.choice(OPERATIONS[bench.fs.log_kind])
            if random.random() < 0.4:
                bench.plan.delay(operation, random.random(), path="logs/", times=random.randrange(1, 3))
            else:
                error = random.choice([Stalled("no answer"), OutOfSpace("no room")]) if self.refusals else Stalled("")
                bench.plan.fail(operation, error, path="logs/", applied=random.random() < 0.5)

    def client(self, tablet: int) -> None:
        for sequence in range(1, 6):
            if self.stopping:
                return
            try:
                self.bench.commit(self.log, tablet, sequence, self.random.randbytes(self.random.randrange(60)))
            except Unavailable:
                self.bench.runtime.sleep(self.random.random() * 0.01)
            except (StorageFailed, LockLost):
                return

    def read(self, files: dict[str, bytes]) -> list[Change] | None:
        """What a recovery finds when the log was fenced whole, and then these files are there; None: Corruption."""
        found: list[Change] = []
        listed = tuple(LogFile(path[len(FOLDER) + 1 :], len(content)) for path, content in self.files().items())
        manifest = Manifest(INCARNATION, self.bench.fs.log_kind, tuple(sorted(listed)))

        def main() -> None:
            fs = MemoryFileSystem(self.bench.runtime)
            for path, content in files.items():
                fs.write_file(path, content)
            found.extend((record.tablet_id, record.sequence) for record in read_log(fs, FOLDER, manifest))

        try:
            self.bench.run(main)
        except (Corruption, FileNotFound):
            return None
        return found

    def files(self) -> dict[str, bytes]:
        files = self.bench.memory.disk.files
        return {path: bytes(file.content) for path, file in files.items() if path.startswith(FOLDER)}


def check_loud(story: Story, files: dict[str, bytes], what: str, clean: bool) -> None:
    found = story.read(files)
    if found is None:
        return
    applied = story.bench.applied
    assert found == applied[: len(found)], f"{what}: a hole, or something that was never acknowledged"
    # Only what no watermark covers: what came last, alone.
    assert len(found) >= len(applied) - (0 if clean else 1), f"{what}: a loss went unnoticed"


@kinds
@pytest.mark.parametrize("clean", [False, True])
@settings(max_examples=generated(10), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_damage_is_loud_unless_no_watermark_covers_it(kind: str, clean: bool, seed: int) -> None:
    story = Story(kind, seed, clean=clean)
    whole = story.files()
    assert story.read(whole) == story.bench.applied
    for path, content in whole.items():
        for offset in [story.random.randrange(len(content)) for _ in range(6 if content else 0)]:
            flipped = content[:offset] + bytes([content[offset] ^ 1 << offset % 8]) + content[offset + 1 :]
            check_loud(story, whole | {path: flipped}, f"bit of byte {offset} of {path}", clean)
        for length in {1, len(content) // 2, len(content) - 1}:
            check_loud(story, whole | {path: content[:length]}, f"{path} cut to {length}", clean)


@kinds
@settings(max_examples=generated(15), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_lost_file_is_loud_unless_all_of_it_is_in_another(kind: str, seed: int) -> None:
    story = Story(kind, seed)
    whole = story.files()
    for path in whole:
        check_loud(story, {other: kept for other, kept in whole.items() if other != path}, f"{path} lost", False)


@kinds
@settings(max_examples=generated(40), deadline=None)
@given(seed=st.integers(0, 10**6), fencers=st.integers(1, 3))
def test_what_was_acknowledged_before_a_fence_is_in_the_manifest_and_nothing_after(
    kind: str, seed: int, fencers: int
) -> None:
    bench = ClusterLog(kind, seed)
    story = Story.__new__(Story)
    story.bench, story.random, story.refusals, story.stopping = bench, bench.runtime.random, True, False
    before: list[list[Change]] = []

    def fencer() -> None:
        bench.runtime.sleep(bench.runtime.random.random() * 0.3)
        fs = MemoryFileSystem(bench.runtime, bench.memory.disk)
        fs.log_kind = kind
        fence(bench.runtime, fs, INCARNATION)
        before.append(list(bench.applied))

    def main() -> None:
        story.log = bench.open(segment_bytes=700, group_bytes=200, hedge_seconds=0.1)
        spawn = bench.runtime.spawn
        others = [spawn(story.trouble), *(spawn(story.client, number) for number in range(4))]
        tasks = [spawn(fencer) for _ in range(fencers)]
        for task in tasks:
            task.join()
            assert task.error is None
        story.stopping = True
        for task in others:
            task.join()
        bench.runtime.sleep(5)
        bench.plan.clear()
        fs = MemoryFileSystem(bench.runtime, bench.memory.disk)
        fs.log_kind = kind
        found = [(record.tablet_id, record.sequence) for record in read_log(fs, FOLDER)]
        assert found[: len(bench.applied)] == bench.applied, "acknowledged, and not recovered"
        for tablet in range(4):
            expected = [sequence for owner, sequence in found if owner == tablet]
            assert [r.sequence for r in recovered(fs, FOLDER, tablet, 0)] == expected
        sort_log(bench.runtime, fs, FOLDER)
        for tablet in range(4):
            expected = [sequence for owner, sequence in found if owner == tablet]
            assert [r.sequence for r in recovered(fs, FOLDER, tablet, 0)] == expected

    bench.run(main)

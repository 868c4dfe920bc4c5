"""Zombies against fencers (docs/faults.md: fencing): does a fenced log hold everything that was acknowledged?

In each trial a tablet server's log, of the real writer over the adapter asked for, takes commits of several tasks with
random pauses, also between the moment a file is complete and the look at the marker. While they go on, two fencers with
connections of their own end the log at about the same time. What was acknowledged, before, meanwhile or after, must be
in what the manifest recovers; both fencers, and whoever reads later, must get the same.

    python -m tests.campaigns.fencing --adapter webhdfs|hdfs|webhdfs-fake|hdfs-fake [--address A] [--trials 200]
        [--seed 1] [--break marker|length]

--break marker: the writer never sees a marker. --break length: a 201 is believed (the webhdfs fake lies now and then).
Either must lose something, or this campaign cannot see a loss.
"""

import argparse
import logging
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.fencing import fence, is_fenced
from hbtable.commitlog.recovery.manifest import Manifest
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.recovery.recovered_edits import recovered
from hbtable.commitlog.segments.segment import log_folder
from hbtable.errors import Corruption, HbtableError, Stalled, StorageFailed, Unavailable
from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem
from hbtable.fs.interface import FileSystem
from hbtable.fs.opened import close_file_system, open_file_system
from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Runtime
from hbtable.testing.fake_hdfs.namespace import FakeNamespace
from hbtable.testing.fake_hdfs.native_client import FakeHdfsClient
from hbtable.testing.fake_hdfs.native_cluster import FakeHdfs, FakeHdfsQuirks
from hbtable.testing.fake_hdfs.webhdfs import FakeWebHdfs
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls
from tests.harness.sorted_log import sort_log

WRITERS: Final = 3
ADDRESSES: Final = {"webhdfs": "webhdfs://localhost:9870/fencing", "hdfs": "hdfs://localhost:9820/fencing"}
_KEY: Final = b"row\x00\x01f\x00q\x00\x01" + bytes(18)


@dataclass
class Trial:
    """One zombie. `pause_seconds`: the longest of its pauses."""

    runtime: Runtime
    open_view: Callable[[], FileSystem]
    """A file system as one more process would see it."""
    chance: random.Random
    breaks: str = ""
    pause_seconds: float = 0.2
    acknowledged: set[tuple[int, int]] = field(default_factory=set)
    after_the_end: int = 0
    """Acknowledged when a manifest stood already, which is fine as long as it names them."""
    found: set[tuple[int, int]] = field(default_factory=set)
    fence_seconds: list[float] = field(default_factory=list)
    lost_told: bool = False

    def run(self) -> None:
        """The outcome is in the fields. AssertionError when two readers would not get the same."""
        runtime, chance = self.runtime, self.chance
        name = f"{chance.randrange(10**8):08d}-{chance.getrandbits(32):08x}"
        fs = self.open_view()
        writer_fs = Believing(fs) if self.breaks == "length" else fs
        log = open_log(
            runtime, writer_fs, name, LogOptions(segment_bytes=20_000), Registry(),
            lambda: self._pausing_look(fs, name), self._lose,
        )  # fmt: skip
        stop = runtime.event()
        manifests: list[Manifest] = []

        def write(tablet: int) -> None:
            for sequence in range(1, 10_000):
                if stop.is_set():
                    return
                record = encode_record(tablet, 1, sequence, 0, [(_KEY, b"%d/%d" % (tablet, sequence) * 20)])
                try:
                    log.commit(tablet, sequence, record, lambda: None)
                except HbtableError:
                    runtime.sleep(0.05)
                    continue
                self.acknowledged.add((tablet, sequence))
                self.after_the_end += bool(manifests)
                if chance.random() < 0.2:
                    runtime.sleep(chance.random() * self.pause_seconds)

        def end() -> None:
            runtime.sleep(chance.random() * 0.1)
            began = runtime.clock_seconds()
            manifests.append(fence(runtime, self.open_view(), name))
            self.fence_seconds.append(runtime.clock_seconds() - began)

        writers = [runtime.spawn(write, tablet, name="zombie") for tablet in range(WRITERS)]
        runtime.sleep(0.2 + chance.random() * 0.8)
        fencers = [runtime.spawn(end, name="fencer") for _ in range(2)]
        for task in fencers:
            task.join()
            assert task.error is None, task.error
        self._recover(name, manifests)
        runtime.sleep(0.3 + chance.random() * 2 * self.pause_seconds)
        stop.set()
        for task in writers:
            task.join(90)
        try:
            log.close()
        except HbtableError:
            pass  # it was fenced
        before = set(self.found)
        self._recover(name, manifests)
        # A writer that looks for no marker notes beside its log what nobody finds: from then on its loss is noticed.
        assert before == self.found or (self.breaks and not self.found), "what is recovered changed"

    def _pausing_look(self, fs: FileSystem, name: str) -> bool:
        # The dangerous moment: the file is complete, and its writer sleeps before it looks.
        if self.chance.random() < 0.15:
            self.runtime.sleep(self.chance.random() * self.pause_seconds)
        return False if self.breaks == "marker" else is_fenced(fs, name)

    def _lose(self) -> None:
        self.lost_told = True

    def _recover(self, name: str, manifests: list[Manifest]) -> None:
        fs, folder = self.open_view(), log_folder(name)
        assert manifests[0] == manifests[1], "two fencers came to two manifests"
        try:
            self.found = {(record.tablet_id, record.sequence) for record in read_log(fs, folder, manifests[0])}
        except Corruption:  # acknowledged, and recovery stops there: as lost as anything
            self.found = set()
            return
        self._sort(fs, folder)
        by_tablet = {(tablet, r.sequence) for tablet in range(WRITERS) for r in recovered(fs, folder, tablet, 0)}
        assert by_tablet == self.found, "the sorted log holds something else"

    def _sort(self, fs: FileSystem, folder: str) -> None:
        """Again and again, as a master does: a DataNode may lie to sorters, too."""
        for _ in range(20):
            try:
                sort_log(self.runtime, fs, folder)
            except (StorageFailed, Unavailable):
                continue
            return
        raise AssertionError("the log could not be sorted")

    @property
    def lost(self) -> set[tuple[int, int]]:
        return self.acknowledged - self.found


class Believing:
    """A file system that takes a 201 for a written file."""

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs

    def __getattr__(self, name: str) -> object:
        return getattr(self._fs, name)

    def put_new(self, path: str, data: bytes, *more: object) -> None:
        try:
            self._fs.put_new(path, data, *more)  # type: ignore[arg-type]
        except Stalled as error:
            if " was written and " not in str(error):
                raise


@dataclass
class Tally:
    """Of all trials."""

    trials: int = 0
    acknowledged: int = 0
    after_the_end: int = 0
    lost: int = 0
    with_loss: int = 0
    stopped: int = 0
    fence_seconds: list[float] = field(default_factory=list)

    def add(self, trial: Trial) -> None:
        self.trials += 1
        self.acknowledged += len(trial.acknowledged)
        self.after_the_end += trial.after_the_end
        self.lost += len(trial.lost)
        self.with_loss += bool(trial.lost)
        self.stopped += trial.lost_told
        self.fence_seconds += trial.fence_seconds

    def __str__(self) -> str:
        seconds = sorted(self.fence_seconds)
        return (
            f"{self.trials} trials, {self.acknowledged} acknowledged, {self.lost} lost in {self.with_loss} trials; "
            f"the zombie noticed in {self.stopped}; fencing took {seconds[len(seconds) // 2]:.2f} s "
            f"(median), {seconds[-1]:.2f} s (longest)"
        )


def on_fake(adapter: str, seed: int, breaks: str = "") -> Trial:
    """One trial in virtual time; the same seed gives the same trial."""
    runtime = SimulatedRuntime(seed)
    open_view = fake_webhdfs(runtime, seed, breaks) if adapter == "webhdfs-fake" else fake_hdfs(runtime)
    trial = Trial(runtime, open_view, random.Random(seed), breaks)
    runtime.run(trial.run)
    return trial


def fake_webhdfs(runtime: SimulatedRuntime, seed: int, breaks: str) -> Callable[[], FileSystem]:
    fake = FakeWebHdfs(runtime, FakeNamespace(runtime.wall_millis), random.Random(seed))
    fake.quirks.lying_created = 0.1
    if not breaks:  # a broken writer is to be found by its break alone
        fake.quirks.lost_reply = fake.quirks.cut_upload = 0.01
    return lambda: WebHdfsFileSystem(runtime, fake.hosts, "/fencing", fake.http(runtime), calls=TaskCalls(runtime))


def fake_hdfs(runtime: SimulatedRuntime) -> Callable[[], FileSystem]:
    cluster = FakeHdfs(runtime, FakeHdfsQuirks(repeated=0.01))
    names = iter(range(100))

    def open_view() -> FileSystem:
        client = FakeHdfsClient(cluster, runtime, f"client-{next(names)}")
        return HdfsNativeFileSystem(runtime, "fake:8020", "/fencing", client=client, calls=TaskCalls(runtime))

    return open_view


def on_real_servers(address: str, trials: int, seed: int, breaks: str = "") -> Tally:
    """One after the other, in a folder of each campaign's own, which is removed."""
    runtime = GeventRuntime()
    root = f"{address}-{random.getrandbits(32):08x}"
    tally = Tally()
    try:
        for number in range(trials):
            views: list[FileSystem] = []

            def open_view(views: list[FileSystem] = views) -> FileSystem:
                views.append(open_file_system(root, runtime))
                return views[-1]

            trial = Trial(runtime, open_view, random.Random(seed + number), breaks, 0.3)
            trial.run()
            for view in views:
                close_file_system(view)
            tally.add(trial)
            if trial.lost:
                print(f"trial {number}: {len(trial.lost)} of {len(trial.acknowledged)} lost", flush=True)
        fs = open_file_system(root, runtime)
        for folder in ("logs", "fenced", "unfinished"):
            fs.delete_folder(folder)
        close_file_system(fs)
    finally:
        runtime.close()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", choices=[*ADDRESSES, "webhdfs-fake", "hdfs-fake"], default="webhdfs-fake")
    parser.add_argument("--address", default="")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--break", dest="breaks", choices=["", "marker", "length"], default="")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    if options.adapter in ADDRESSES:
        address = options.address or ADDRESSES[options.adapter]
        tally = on_real_servers(address, options.trials, options.seed, options.breaks)
    else:
        tally = Tally()
        for seed in range(options.seed, options.seed + options.trials):
            tally.add(on_fake(options.adapter, seed, options.breaks))
    print(f"{options.adapter}{' without ' + options.breaks if options.breaks else ''}: {tally}")
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if bool(tally.lost) == bool(options.breaks) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Brings a log to its end, whoever may still be writing it (docs/faults.md: fencing).

    marker     fenced/<incarnation>: its existence says it all; placed, whole, until it is seen, and never removed
               while the log is there
    list       the log's folder; an error ends the attempt
    seal       kind hdfs: each listed file is taken from its writer, which makes its length final
    manifest   names and lengths, published under one name by whoever is first

Why nothing acknowledged is missing: a writer acknowledges only what was complete before it saw the marker absent
(webhdfs: per group; hdfs: per file, whose later syncs fail once it is sealed). So it was complete before the marker
stood, and the marker stood before the listing. No clock, no rename of anybody's files, nothing to undo: any number of
fencers may be at work, and any may die between any two steps. What was never acknowledged may be in the manifest or
not; the manifest decides that once for all, so everybody recovers the same (bug class 4).

Every answer that leaves open whether a step took effect is resolved by looking.

The marker is empty: it needs the NameNode alone, also while DataNodes are dead or frozen. Unless the log, which nobody
needed when it was fenced, was *given up* before it was deleted: then it is

    "BtLogEnd" (8)  wall millis (8)  incarnation  00 01

From then on whoever fences it finds a log without files. Otherwise a server that was just starting could be given
tablets, and stand in their records, after its log was deleted: what it still wrote would look like a log with a gap.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from hbtable.commitlog.recovery.manifest import (
    LogFile,
    Manifest,
    encode_manifest,
    list_log,
    manifest_path,
    published,
)
from hbtable.commitlog.segments.segment import log_folder
from hbtable.errors import AlreadyExists, FileNotFound, HbtableError, StorageFailed, Unavailable, UnsupportedFormat
from hbtable.fs.interface import HDFS, LOCAL, FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_until_error
from hbtable.switches import switches

logger = logging.getLogger(__name__)

T = TypeVar("T")

FENCED: Final = "fenced"
"""The folder of all markers."""
GIVEN_UP: Final = b"BtLogEnd"
_MARKER_VERSION: Final = b"\x00\x01"
"""At the end of the marker: version 1. Before there were versions it was not there. No incarnation ends so."""


@dataclass(frozen=True, slots=True)
class FencingOptions:
    """Options: how long a fencer waits for a file system in trouble."""

    patience_seconds: float = 20.0
    """The time for which each step is tried again. Longer: the master notices later who else died meanwhile; it begins
    anew with its next cycle in any case. A file whose storage node is dead is sealed after about 11 s."""
    pause_seconds: float = 0.1
    """Between two tries. Longer: fewer calls, later recovery."""
    parallel_seals: int = 16
    """Files taken from their writer at a time. More: a faster recovery of a log of many files."""


def marker_path(incarnation: str) -> str:
    return f"{FENCED}/{incarnation}"


@switches
def is_fenced(fs: FileSystem, incarnation: str) -> bool:
    """A writer asks this before it acknowledges. Raises when the answer is unknown: that is not "no"."""
    try:
        fs.status(marker_path(incarnation))
    except FileNotFound:
        return False
    return True


@switches
def fence(runtime: Runtime, fs: FileSystem, incarnation: str, options: FencingOptions | None = None) -> Manifest:
    """Nothing is acknowledged any more by this log's writer, and the manifest is published, on return. The writer must
    be known dead, or be meant to die. Unavailable, StorageFailed: try again; Corruption.

    Of kind local only the listing is taken: the data folder's lock keeps other writers away.
    """
    folder = log_folder(incarnation)
    if fs.log_kind == LOCAL:
        return list_log(fs, folder)
    fencer = _Fencer(runtime, fs, incarnation, options or FencingOptions())
    manifest = fencer.until_done(lambda: _known(fs, incarnation))
    if manifest is None:
        fencer.mark()
        manifest = fencer.publish(fencer.sealed(fencer.until_done(lambda: list_log(fs, folder))))
    return manifest


@switches
def give_up(runtime: Runtime, fs: FileSystem, incarnation: str) -> None:
    """The log is empty on return, for whoever fences it, and its files may be deleted; durable. It must have been
    fenced, and METADATA read after that without finding it in any tablet's record: so nothing of it counts, and nothing
    ever will, whoever names it later."""
    fs.write_file(marker_path(incarnation), encode_given_up(incarnation, runtime.wall_millis()))


def encode_given_up(incarnation: str, wall_millis: int) -> bytes:
    """The marker's content."""
    return GIVEN_UP + wall_millis.to_bytes(8, "big") + incarnation.encode() + _MARKER_VERSION


def is_given_up(marker: bytes, incarnation: str) -> bool:
    """UnsupportedFormat: a newer hbtable says something else of the log."""
    if not marker:
        return False
    name = incarnation.encode()
    if marker[:8] == GIVEN_UP and marker[16:] in (name, name + _MARKER_VERSION):
        return True
    known = f"{GIVEN_UP!r}, a time, the log's name and {_MARKER_VERSION!r}"
    raise UnsupportedFormat.unknown(marker_path(incarnation), "content", marker[:80], known)


@switches
def _known(fs: FileSystem, incarnation: str) -> Manifest | None:
    """The decision of an earlier fencing; None: there was none."""
    try:
        if is_given_up(fs.read_file(marker_path(incarnation)), incarnation):
            return Manifest(incarnation, fs.log_kind, (), given_up=True)
    except FileNotFound:
        return None
    return published(fs, log_folder(incarnation))


class _Fencer:
    """The steps, in order."""

    def __init__(self, runtime: Runtime, fs: FileSystem, incarnation: str, options: FencingOptions) -> None:
        self._runtime = runtime
        self._fs = fs
        self._incarnation = incarnation
        self._folder = log_folder(incarnation)
        self._options = options

    @switches
    def until_done(self, step: Callable[[], T]) -> T:
        """Tries again after what may pass: Unavailable and StorageFailed. The last error when the deadline has
        passed."""
        deadline = self._runtime.clock_seconds() + self._options.patience_seconds
        while True:
            try:
                return step()
            except (Unavailable, StorageFailed) as error:
                if self._runtime.clock_seconds() >= deadline:
                    raise
                logger.info("fencing %s: %s", self._incarnation, error)
            self._runtime.sleep(self._options.pause_seconds)

    @switches
    def mark(self) -> None:
        self.until_done(self._mark_once)

    @switches
    def _mark_once(self) -> None:
        # Seen first: a fencer that comes later has nothing to write.
        if is_fenced(self._fs, self._incarnation):
            return
        # Not put under its name: another fencer would see it before it is whole, list the log, and the put may yet come
        # to nothing, so that the writer sees no marker and goes on.
        error = self._place(marker_path(self._incarnation), b"")
        if not is_fenced(self._fs, self._incarnation):
            raise Unavailable(f"{marker_path(self._incarnation)} is not there yet: {error}") from error

    @switches
    def _place(self, path: str, content: bytes) -> HbtableError | None:
        """Brings a whole file under this name, unless there is one. Whatever the answer was, only what is seen then
        counts; the error is for the report."""
        # A name of its own for each try: what became of a try that went wrong cannot be known.
        draft = f"{path}-{self._runtime.random.getrandbits(64):016x}"
        try:
            self._fs.put_new(draft, content)
            self._fs.rename(draft, path)
        except (AlreadyExists, FileNotFound, Unavailable, StorageFailed) as error:
            return error
        return None

    @switches
    def sealed(self, listed: Manifest) -> Manifest:
        """The listing with final lengths."""
        if listed.log_kind != HDFS:
            return listed
        files = run_until_error(
            self._runtime,
            self._options.parallel_seals,
            [lambda file=file: self.until_done(lambda: self._seal(file)) for file in listed.files],  # type: ignore[misc]
            "seal",
        )
        return listed._replace(files=tuple(file for file in files if file is not None))

    @switches
    def _seal(self, file: LogFile) -> LogFile | None:
        try:
            return LogFile(file.name, self._fs.seal(f"{self._folder}/{file.name}"))
        except FileNotFound:
            # Its writer deleted it, having said in the log, durably, that nobody needs it. Were it needed, reading
            # would find a gap and refuse.
            return None

    @switches
    def publish(self, manifest: Manifest) -> Manifest:
        """This manifest, or the one that another fencer published first."""
        encoded = encode_manifest(manifest)
        return self.until_done(lambda: self._publish_once(encoded))

    @switches
    def _publish_once(self, encoded: bytes) -> Manifest:
        error = self._place(manifest_path(self._folder), encoded)
        # One answer for all: what is there now, whoever it is from.
        stored = published(self._fs, self._folder)
        if stored is None:
            raise Unavailable(f"the manifest of {self._incarnation} is not there yet: {error}") from error
        return stored

"""Room that is kept back on a machine's disk, and given up when there is no other: the file `ballast`.

A full disk would keep everything closed, deletes and drops included, for these write a little as well. So space is
taken beforehand. When a write finds no room the file is cut to a half and puts are refused; what the space is then
used for are deletes, drops and truncates. The other half is for starts: one that finds no room has all of it, and takes
back what it has left over (started()). Until then nothing is written that can wait, and even afterwards all that a next
start needs stays free. When there is twice as much room as the file takes, it is filled anew.

    ballast    its full length: kept back;  less: given up, and still so after a restart;  absent: never had
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from hbtable.errors import FileNotFound, HbtableError, InvalidConfiguration, OutOfSpace
from hbtable.fs.interface import DiskSpace, FileSystem
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

BALLAST: Final = "ballast"
_SHARE_OF_DISK: Final = 32
"""A small disk keeps back a 32nd of itself at most."""
_LEAST_BYTES: Final = 384 << 10
"""The least with which drops on a full disk are tested: a half is left for a start, a sixteenth for disabling."""
_LOOK_SECONDS: Final = 1.0
_LEAST_TAKEN_BYTES: Final = 4096
"""The file grows by so much at a time, or not at all."""
_EVERYTHING: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class BallastOptions:
    """Room on the disk for the day when it is full."""

    ballast_bytes: int = 8 << 20
    """Size of the file `ballast` in the data folder, which is cut when the disk is full, so that rows can be deleted,
    tables dropped and the server started; 384 KiB at least, a 32nd of the disk at most. 0: none. Larger: more deletes
    fit."""

    def __post_init__(self) -> None:
        if self.ballast_bytes < _LEAST_BYTES and self.ballast_bytes != 0:
            raise InvalidConfiguration(
                f"disk.ballast_bytes is {self.ballast_bytes}: with less than {_LEAST_BYTES} a drop may find no room on "
                "a full disk; give it more, or 0 for none"
            )


@final
class Ballast:
    """Keeps room on the disk, and gives it up when there is no other. start() once, stop() once. `full` is "" or says
    that puts are refused, and until when."""

    def __init__(self, runtime: Runtime, fs: FileSystem, room: DiskSpace, options: BallastOptions) -> None:
        self._runtime = runtime
        self._fs = fs
        self._room = room
        self._size = min(options.ballast_bytes, room.total_bytes() // _SHARE_OF_DISK)
        self._for_starts = self._size // 2
        self._held = False
        self._length = 0
        """Of the file, since start()."""
        self._starting = True
        self.last_room_bytes = self._size // 16
        """While the disk is full, only what is urgent is written into the last room."""
        self.full = ""
        self.on_change: Callable[[], None] = _nobody
        """Called, without a switch, when `full` has changed."""
        self._turn = runtime.lock()
        """Of who changes the file, once the start is over or nearly so."""
        self._wake = runtime.event()
        self._task: Task | None = None
        self._stopping = False

    @switches
    def start(self) -> None:
        """Takes the ballast, or gives it up; decided on return. To be called before anything is written."""
        held = self._length_found()
        self._length = held or 0
        if not self._size:
            if held:
                self._room.shrink(BALLAST, 0)  # it was configured once
            return
        if held is None:
            self._take_if_there_is_room()
        elif held >= self._size and self._room.free_bytes() >= self._for_starts:
            self._held = True
        else:
            self._set_full()
            self._take_if_there_is_room()
            if self.full:
                # All of it only when nothing else is left: whoever fills the disk may take what is given up.
                self._give_up(0 if self._room.free_bytes() < self._for_starts else self._for_starts)
        self._room.when_full = self.ran_out
        self._task = supervise(self._runtime, self._watch, name="ballast")

    @switches
    def started(self) -> None:
        """The start is over: what it has left of the room for starts is taken back, before somebody else has it."""
        self._starting = False
        self._wake.set()
        with self._turn:
            if self.full:
                self._take_back()

    def kept_bytes(self) -> int:
        """So much of the free room is for the next start, while the disk is full; all of it until started(). What can
        wait is not written into it. Does not switch."""
        if not self.full:
            return 0
        return _EVERYTHING if self._starting else max(0, self._for_starts - self._length)

    @switches
    def stop(self) -> None:
        """Idempotent."""
        self._room.when_full = _nobody
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            self._task.join()
            self._task = None

    def ran_out(self) -> None:
        """A write found no room. Does not switch."""
        if self._held and not self.full:
            self._set_full()
            self._wake.set()

    def free_bytes(self) -> int:
        return self._room.free_bytes()

    @switches
    def _watch(self) -> None:
        while not self._stopping:
            self._wake.wait(None if self._held and not self.full else _LOOK_SECONDS)
            self._wake.clear()
            try:
                with self._turn:
                    self._look()
            except HbtableError as error:
                log.warning("the ballast could not be changed, and is tried again: %s", error)

    @switches
    def _look(self) -> None:
        if self.full and self._held:
            self._give_up(self._for_starts)
        elif not self._held:
            self._take_if_there_is_room()
            if self.full and not self._starting:
                self._take_back()

    @switches
    def _give_up(self, left_bytes: int) -> None:
        if left_bytes < self._length:
            self._room.shrink(BALLAST, left_bytes)
            self._length = left_bytes
        self._held = False
        log.error("%s", self.full)

    @switches
    def _take_if_there_is_room(self) -> None:
        if self._room.free_bytes() < 2 * self._size or not self._grow(self._size):
            return
        self._held = True
        if self.full:
            log.warning("there is room on the disk again: puts are taken")
            self._change("")

    @switches
    def _take_back(self) -> None:
        """Takes back the room that starts need, as far as there is some beyond the last room of deletes and drops."""
        possible = self._length + self._room.free_bytes() - self.last_room_bytes
        wanted = min(self._for_starts, possible)
        if wanted - self._length >= _LEAST_TAKEN_BYTES:
            self._grow(wanted)

    @switches
    def _grow(self, length_bytes: int) -> bool:
        """False: somebody else was faster."""
        try:
            self._room.reserve(BALLAST, length_bytes)
        except OutOfSpace:
            return False
        self._length = length_bytes
        return True

    def _set_full(self) -> None:
        self._change(
            f"the disk is full: puts are refused until {2 * self._size} bytes are free. Deletes, drops, truncates and "
            "reads work; make room, then try again"
        )

    def _change(self, message: str) -> None:
        self.full = message
        self.on_change()

    @switches
    def _length_found(self) -> int | None:
        try:
            return self._fs.status(BALLAST).length_bytes
        except FileNotFound:
            return None


def _nobody() -> None:
    """Nobody listens."""

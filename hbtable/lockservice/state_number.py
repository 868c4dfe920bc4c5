"""The number that says how far a cluster has come, kept in two places: files that were put back below a newer lock
service show.

    /state-number                  in the lock service     JSON, as below
    metadata/state/<N>-<random>    in the file system      two files of each number N, ten digits, with the same JSON

The master that acts counts up: when it begins, when tablet servers come or go, and each minute. A number's files are
durable before the lock service says it, and those of lower numbers go only after that. So the files are never behind
the lock service, unless they are as they were before. There are two, so that one that is lost closes nothing. A
deposed master that writes late adds a file more, of whatever number; it takes none away that counts.

A lock service that is behind the files is no evidence: its file may be lost by itself. An old lock service is told by
the root tablet's record (metadata.root_copy).
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from hbtable.errors import AlreadyExists, Corruption, FileNotFound, Unavailable, UnsupportedFormat
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.interface import Session, VersionedFile
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

STATE_NUMBER: Final = "/state-number"
STATE_FOLDER: Final = "metadata/state"

_FORMAT: Final = 1
_COPIES: Final = 2


@dataclass(frozen=True, slots=True)
class StateNumber:
    """The number up to which a cluster has come. `millis`: the wall clock of the master that counted."""

    number: int = 0
    millis: int = 0

    def encode(self) -> bytes:
        return json.dumps({"format": _FORMAT, "millis": self.millis, "number": self.number}).encode()

    @staticmethod
    def decode(data: bytes, path: str) -> "StateNumber":
        """Corruption, UnsupportedFormat."""
        try:
            fields = json.loads(data)
            found = fields["format"]
            if found == _FORMAT:
                return StateNumber(int(fields["number"]), int(fields["millis"]))
        except (ValueError, KeyError, TypeError) as error:
            raise Corruption(path, 0, f"no state number: {error}") from error
        raise UnsupportedFormat.unknown(path, "format", found, _FORMAT)

    def when(self) -> str:
        return f"{datetime.fromtimestamp(self.millis / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


@switches
def of_lock_service(session: Session) -> tuple[StateNumber, int]:
    """The lock service's number, and the version of its file; 0: there is none. What cannot be read counts as 0: the
    root tablet's record is what tells of an old lock service. UnsupportedFormat."""
    try:
        file = session.read(STATE_NUMBER)
    except FileNotFound:
        return StateNumber(), 0
    try:
        return StateNumber.decode(file.data, STATE_NUMBER), file.version
    except Corruption:
        return StateNumber(), file.version


@switches
def of_files(fs: FileSystem) -> StateNumber:
    """The highest; 0 without any. Its time is 0 when neither file can be read: a master that was killed may have left
    them open, and HDFS shows nothing of them."""
    numbers = _by_number(fs)
    if not numbers:
        return StateNumber()
    highest = max(numbers)
    for path in numbers[highest]:
        try:
            return StateNumber(highest, StateNumber.decode(fs.read_file(path), path).millis)
        except (Corruption, FileNotFound, Unavailable):
            continue
    return StateNumber(highest)


@switches
def refuse_older_files(session: Session, fs: FileSystem) -> None:
    """Corruption when the files are as they were before what the lock service says."""
    said, _ = of_lock_service(session)
    what = _older_files(said, fs)
    if what:
        raise Corruption(
            STATE_FOLDER,
            0,
            f"{what}: nothing is served, for what was written since would be missing without a word. Bring the newer "
            "files back; or, to go on with these, stop every role and run `hbtable repair`",
        )


@switches
def older_files_of(file: VersionedFile | None, fs: FileSystem) -> str:
    """For who reads the lock service's `file` by himself: what is wrong with the files in `fs`, or "" ."""
    try:
        said = StateNumber.decode(file.data, STATE_NUMBER) if file is not None else StateNumber()
    except Corruption:
        return ""
    return _older_files(said, fs)


@switches
def _older_files(said: StateNumber, fs: FileSystem) -> str:
    if max(_by_number(fs), default=0) >= said.number:
        return ""
    found = of_files(fs)
    if not found.number:
        of_when = "from before there was a state number, or without it"
    elif found.millis:
        of_when = f"as of state {found.number}, {found.when()}"
    else:
        of_when = f"as of state {found.number}"
    return (
        f"the files are {of_when}, and the lock service is as of state {said.number}, {said.when()}: the files were "
        "put back from a backup, and the lock service was not"
    )


@switches
def count_up(runtime: Runtime, session: Session, fs: FileSystem) -> None:
    """Both places have a higher number on return. Only by the master. Corruption: the files are older by now;
    Conflict: another master counted; what a file system or a lock service may raise."""
    said, version = of_lock_service(session)
    before = _by_number(fs)
    if max(before, default=0) < said.number:
        refuse_older_files(session, fs)
    new = StateNumber(max(said.number, *before, 0) + 1, runtime.wall_millis())
    for _ in range(_COPIES):
        fs.put_new(f"{STATE_FOLDER}/{new.number:010d}-{runtime.random.getrandbits(32):08x}", new.encode())
    if version:
        session.write(STATE_NUMBER, new.encode(), version)
    else:
        _create(session, new)
    for path in [path for paths in before.values() for path in paths]:
        try:
            fs.delete(path)
        except FileNotFound:
            continue  # another master that began before took it away


@switches
def _create(session: Session, new: StateNumber) -> None:
    try:
        session.create(STATE_NUMBER, new.encode())
    except AlreadyExists:
        return  # another master was first; its files have a number of their own


@switches
def _by_number(fs: FileSystem) -> dict[int, list[str]]:
    """Paths. What is not named like one of these files is passed over."""
    found: dict[int, list[str]] = {}
    for status in fs.list_files(STATE_FOLDER):
        number = status.path.rpartition("/")[2].partition("-")[0]
        if number.isdigit():
            found.setdefault(int(number), []).append(status.path)
    return found

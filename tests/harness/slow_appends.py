"""A local file system whose appends to logs switch now and then, with a part of the bytes in the file: as those of a
disk do that are so large that a thread makes them."""

import random
from typing import Final, final

from hbtable.fs.interface import AppendFile, FileSystem
from hbtable.runtime.interface import Runtime

_SLOW: Final = 0.3
_LONGEST_SECONDS: Final = 0.01
"""Longer than most syncs: others begin meanwhile, and end."""


@final
class SlowAppends:
    """Every call goes to the inner one."""

    def __init__(self, inner: FileSystem, runtime: Runtime, seed: str) -> None:
        self._inner = inner
        self.runtime = runtime
        self.chance = random.Random(f"appends {seed}")
        self.slow = 0
        """Appends that switched."""

    def create(self, path: str) -> AppendFile:
        file = self._inner.create(path)
        return _SlowFile(self, file) if path.startswith("logs/") else file

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


@final
class _SlowFile:
    """A file of a log. Its end is not known once a task was killed that appended."""

    def __init__(self, system: SlowAppends, file: AppendFile) -> None:
        self.path = file.path
        self._system = system
        self._file = file
        self._appends = False

    def append(self, data: bytes) -> None:
        assert not self._appends, f"two appends to {self.path} at once"
        chance = self._system.chance
        if chance.random() >= _SLOW:
            self._file.append(data)
            return
        self._appends = True
        self._system.slow += 1
        cut = chance.choice((0, len(data), chance.randint(0, len(data))))
        self._file.append(data[:cut])
        self._system.runtime.sleep(chance.choice((0.0, chance.uniform(0, _LONGEST_SECONDS))))
        self._file.append(data[cut:])
        self._appends = False

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        assert not self._appends, f"{self.path} is closed while bytes are appended to it"
        self._file.close()

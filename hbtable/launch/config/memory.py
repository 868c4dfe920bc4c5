"""The memory of one serving process: a limit, and what each part may take of it.

Every part has a bound of its own (memtables, block cache, large requests and answers, the log's queue, scanners). Their
defaults add up to what is right for a machine of some gigabytes. Where the limit is smaller, each default becomes its
share of it; what somebody set stays, and is refused when it cannot fit.
"""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hbtable.errors import InvalidConfiguration
from hbtable.launch.config.configuration import Defaults

_BASE_BYTES: Final = 96 << 20
"""Interpreter, libraries, tablets, indexes of SSTables: a process that has nothing to do yet takes 60 MB."""
_CGROUP_FILES: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_LEAST_BYTES: Final = 320 << 20
"""With less there would be no room for a cell of the usual largest size in a message."""

Key = tuple[str, str]

SHARES: Final[dict[Key, float]] = {
    ("maintenance", "total_memtable_bytes"): 0.10,
    ("cache", "block_cache_bytes"): 0.15,
    ("thrift", "transfer_bytes"): 0.20,
    ("thrift", "message_bytes"): 0.05,
    ("thrift", "answer_bytes"): 0.05,
    ("thrift", "scanner_memory_bytes"): 0.05,
    ("rpc_server", "transfer_bytes"): 0.20,
    ("log", "queue_bytes"): 0.20,
}
"""Of the limit without the base."""
_TAKES: Final[dict[Key, float]] = {
    # Writers wait at twice the bound, and what is being flushed is kept until it is in an SSTable.
    ("maintenance", "total_memtable_bytes"): 2.0,
    ("cache", "block_cache_bytes"): 1.0,
    # A request is counted with what it becomes, and its copy at the last step is not.
    ("thrift", "transfer_bytes"): 1.5,
    ("thrift", "scanner_memory_bytes"): 1.0,
    ("rpc_server", "transfer_bytes"): 1.5,
}
"""The memory that a part takes when it is at its bound, as a multiple of the bound. Messages are in the transfers, and
queued commits in both."""


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Options: the memory that the whole process may take."""

    limit_bytes: int = 0
    """Of a server's process. Near it the block cache and large requests get less room. 0: half of the machine, or of
    what the container may have. Below 7 GiB the default of the block cache shrinks with it, below 1.5 GiB those of
    memtables, messages and transfers, too. Larger: more memory, more of it for many large requests at once."""

    def __post_init__(self) -> None:
        if 0 < self.limit_bytes < _LEAST_BYTES:
            raise InvalidConfiguration(f"limit_bytes = {self.limit_bytes}: a server needs at least {_LEAST_BYTES}")

    def banner(self, cache_bytes: int) -> str:
        """The line about memory of a start."""
        limit_bytes = self.limit(of_machine())
        return f"memory  up to {_mebibytes(limit_bytes)}, {_mebibytes(cache_bytes)} of it for the block cache"

    def limit(self, machine_bytes: int) -> int:
        return self.limit_bytes or max(machine_bytes // 2, _LEAST_BYTES)


def _mebibytes(size: int) -> str:
    return f"{size >> 20:,} MiB"


def of_machine() -> int:
    """Bytes of this machine, or of the container around this process."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in _CGROUP_FILES:
        try:
            text = Path(name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text.isdigit():  # "max" is none
            found.append(int(text))
    return min(found)


def shrunk(limit_bytes: int, usual: Callable[[str, str], float], sections: Collection[str]) -> Defaults:
    """Defaults that fit into the limit, of the keys in `sections` whose `usual` one is larger."""
    room = max(0, limit_bytes - _BASE_BYTES)
    return {
        (section, key): int(room * share)
        for (section, key), share in SHARES.items()
        if section in sections and usual(section, key) > room * share
    }


def check_fits(limit_bytes: int, value: Callable[[str, str], float], sections: Collection[str]) -> None:
    """InvalidConfiguration when the parts at their bounds would take more than the limit."""
    takes = {key: int(value(*key) * times) for key, times in _TAKES.items() if key[0] in sections}
    whole = _BASE_BYTES + sum(takes.values())
    if whole <= limit_bytes:
        return
    section, name = max(takes, key=lambda key: takes[key])
    raise InvalidConfiguration(
        f"memory.limit_bytes is {limit_bytes}, and what this server keeps may take {whole}, most of it by "
        f"{section}.{name} = {value(section, name)}: set a limit of {whole}, or less for the parts"
    )

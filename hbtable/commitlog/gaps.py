"""Gaps: what of a dead server's log cannot be read, and which tablets may miss something of it.

A tablet's sequences have no holes in its log, so one whose records go on right behind the gap has none in it. Nor has a
tablet that needs only later ones, nor one that the log's high-water mark (high_water.py) shows to have had nothing
there. A tablet of which that cannot be said is not served until an operator has accepted the loss: what was
acknowledged must not be missing without a word.

Stored as JSON behind the runs in the list of a sorted log (runs.py, version 3).
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hbtable.errors import Corruption

WAY_OUT = "restore the log from a backup, or stop the server and run `hbtable repair`, which says what is lost"


class Gap(NamedTuple):
    """Groups of `first_lsn` to `last_lsn` are missing or damaged; 0: it is not known."""

    path: str
    start: int
    stop: int
    """Bytes; a gap that goes on in later segments ends with this one."""
    first_lsn: int
    last_lsn: int
    lost: Mapping[int, int] | None
    """The highest lost sequence of each tablet, if all of the gap is known; no other tablet lost anything."""
    around: Mapping[int, tuple[int, int]]
    """By tablet: the last sequence before the gap, and the first behind it, 0 for none."""
    marked: Mapping[int, int] | None
    """By tablet: its highest sequence as of a mark that covers the gap; None without such a mark."""

    def may_have_lost(self, tablet_id: int, first_needed: int) -> bool:
        """Whether a tablet that needs its sequences from there on may miss one."""
        if self.lost is not None:
            return self.lost.get(tablet_id, 0) >= first_needed
        before, after = self.around.get(tablet_id, (0, 0))
        known = max(before, first_needed - 1)
        if after:
            return after > known + 1
        return self.marked is None or self.marked.get(tablet_id, 0) > known

    def reason(self) -> str:
        groups = f"groups {self.first_lsn or '?'} to {self.last_lsn or '?'}"
        return f"bytes {self.start} to {self.stop} of the log, {groups}, cannot be read"

    def damage(self, tablet_id: int) -> Corruption:
        """What whoever recovers the tablet is told."""
        before, _ = self.around.get(tablet_id, (0, 0))
        least = (self.lost or self.marked or {}).get(tablet_id, 0)
        known = f", up to {least} at least" if least else ""
        what = f"tablet {tablet_id} may have lost writes that were acknowledged, from sequence {before + 1} on{known}"
        return Corruption(self.path, self.start, f"{self.reason()}; {what}: {WAY_OUT}")


def encode_gaps(gaps: Sequence[Gap]) -> bytes:
    return json.dumps([gap._asdict() for gap in gaps], separators=(",", ":"), sort_keys=True).encode()


def decode_gaps(data: bytes, path: str) -> list[Gap]:
    """Corruption."""
    try:
        return [_gap(fields) for fields in json.loads(data)]
    except (ValueError, KeyError, TypeError) as error:
        raise Corruption(path, 0, f"the list of gaps cannot be read: {error}") from error


def _gap(fields: dict[str, object]) -> Gap:
    numbers = {name: int(str(fields[name])) for name in ("start", "stop", "first_lsn", "last_lsn")}
    around = fields["around"]
    assert isinstance(around, dict)
    return Gap(
        str(fields["path"]),
        lost=_sequences(fields["lost"]),
        around={int(tablet_id): (int(before), int(after)) for tablet_id, (before, after) in around.items()},
        marked=_sequences(fields["marked"]),
        **numbers,
    )


def _sequences(found: object) -> dict[int, int] | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        raise TypeError(f"{found!r} is no object")
    return {int(tablet_id): int(sequence) for tablet_id, sequence in found.items()}

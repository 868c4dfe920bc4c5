"""The gaps of a dead server's log: the parts that cannot be read, and the tablets that may miss something of them.

A tablet's sequences have no holes in its log. So a tablet has no records in the gap if its records go on right behind
it with the next sequence, if it needs only later records, or if the log's high-water mark (high_water.py) shows that it
had none there. Any other tablet is not served until an operator has accepted the loss: what was acknowledged must not
be missing without a word.

A log's groups may end before its mark, cut off or unreadable, while its file does not end right at the mark. Then
nobody knows how far the log went on behind the mark, and whose writes were there. The mark vouches for its own part
alone (`marked_part`), and no tablet that needs the log is called whole.

Stored as JSON behind the runs in the list of a sorted log (sorted_runs.py, version 3).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hbtable.errors import Corruption

WAY_OUT = "stop the server, in a cluster every role; then run `hbtable repair`, which says what is lost, or "


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
    marked_part: Mapping[int, int] | None = None
    """As of a mark behind which the gap may go on; then `marked` is None."""
    at_end: bool = False
    """No group behind it could be read, so nobody knows how much was there."""

    def may_have_lost(self, tablet_id: int, first_needed: int, behind_the_mark: bool = True) -> bool:
        """Whether a tablet that needs its sequences from there on may miss one. Not `behind_the_mark`: one that a mark
        shows to have been there."""
        if self.lost is not None:
            return self.lost.get(tablet_id, 0) >= first_needed
        before, after = self.around.get(tablet_id, (0, 0))
        known = max(before, first_needed - 1)
        if after:
            return after > known + 1
        marked = self.marked if behind_the_mark or self.marked is not None else self.marked_part
        return marked is None or marked.get(tablet_id, 0) > known

    @property
    def hides_the_end(self) -> bool:
        """Whether writes of any tablet from after the log's mark may be missing."""
        return self.at_end and (self.marked is not None or self.marked_part is not None)

    def reason(self) -> str:
        groups = f"groups {self.first_lsn or '?'} to {self.last_lsn or '?'}"
        return f"bytes {self.start} to {self.stop} of the log, {groups}, cannot be read"

    def unattributed(self) -> str:
        """The message about a gap that hides the log's end."""
        lost = "any table of this server may have lost its last writes"
        return f"the log's groups end before its mark; after the mark: {lost}"

    def damage(self, tablet_id: int) -> Corruption:
        """The error for whoever recovers the tablet."""
        before, _ = self.around.get(tablet_id, (0, 0))
        least = (self.lost or self.marked or self.marked_part or {}).get(tablet_id, 0)
        known = f", up to {least} at least" if least > before else ""
        if self.marked_part is not None:
            known += " (what was written after the log's mark may be of any tablet)"
        what = f"tablet {tablet_id} may have lost writes that were acknowledged, from sequence {before + 1} on{known}"
        log = "/".join(self.path.split("/")[:2])
        # What recovery found of it in its damaged state is there, and counts as long as it is.
        restore = f"restore {log} from a backup and remove what is in {log}/sorted"
        return Corruption(self.path, self.start, f"{self.reason()}; {what}: {WAY_OUT}{restore}")


@dataclass(slots=True)
class OpenGap:
    """A gap while the records behind it are still to come."""

    path: str
    start: int
    stop: int
    first_lsn: int
    last_lsn: int
    lost: dict[int, int] | None
    before: dict[int, int]
    marked: Mapping[int, int] | None
    marked_part: Mapping[int, int] | None
    at_end: bool
    after: dict[int, int] = field(default_factory=dict)

    def closed(self) -> Gap:
        tablets = self.before.keys() | self.after.keys()
        around = {tablet_id: (self.before.get(tablet_id, 0), self.after.get(tablet_id, 0)) for tablet_id in tablets}
        lsns = self.first_lsn, self.last_lsn
        marks = self.marked, self.marked_part
        return Gap(self.path, self.start, self.stop, *lsns, self.lost, around, *marks, self.at_end)


def encode_gaps(gaps: Sequence[Gap]) -> bytes:
    return json.dumps([_fields(gap) for gap in gaps], separators=(",", ":"), sort_keys=True).encode()


def _fields(gap: Gap) -> dict[str, object]:
    """The last two are left out where they say nothing. Who does not know them refuses more tablets, not fewer."""
    fields = gap._asdict()
    if gap.marked_part is None:
        del fields["marked_part"]
    if not gap.at_end:
        del fields["at_end"]
    return fields


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
        marked_part=_sequences(fields.get("marked_part")),
        at_end=bool(fields.get("at_end", False)),
        **numbers,
    )


def _sequences(found: object) -> dict[int, int] | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        raise TypeError(f"{found!r} is no object")
    return {int(tablet_id): int(sequence) for tablet_id, sequence in found.items()}

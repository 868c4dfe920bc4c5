"""Every file of a data folder in turn removed, cut short, flipped, replaced by an older copy of itself or by another's:
never a wrong answer, never more closed than must be, `hbtable check` notices what matters, and `hbtable repair` brings
back what was flushed and not itself destroyed. Both agree: the check says sound where the repair has nothing to do.

Prints what became of each kind of file and damage. Reading, checking and repairing go over copies of one folder in
memory, so that a case takes a tenth of a second.

    python -m tests.campaigns.damage [--seed N] [--flips 6] [--kind local | hdfs | webhdfs] [--verbose]
"""

import argparse
import logging
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hbtable.commitlog.group_files.group_file import SUFFIX
from hbtable.errors import HbtableError, NotFound, UnsupportedFormat
from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.campaigns.damage_life import DROPPED, QUICK, TABLES, Life, disk_copy, live, start
from tests.campaigns.damage_store import NUMBERS, ZOOKEEPER, check_store, file_system, repair_store
from tests.harness.promises import RowState

RIGHT, REFUSED, CLOSED, WRONG, CRASHED = "right", "refused", "closed", "WRONG", "CRASHED"


LOG, LOG_END = "log", "end of the last log"
"""No watermark covers the last groups of a log: their loss cannot be told from a crash in the middle of a write. The
check says what it dropped there."""

CUTS = ("removed", "half", "empty")
"""Of these nothing is left that could be dropped."""


LOSSES = {
    "lock service": ("lockservice/", f"{ZOOKEEPER}/"),
    "METADATA": ("sstables/00000000/",),
    "lock service and METADATA": ("lockservice/", f"{ZOOKEEPER}/", "metadata/", "sstables/00000000/"),
    "root record and copy": ("lockservice/files/root-tablet", f"{ZOOKEEPER}/root-tablet", "metadata/"),
}
"""Several files that are lost at once, by the beginnings of their paths."""


@dataclass(frozen=True)
class Case:
    """One damage to one file, or to all whose paths begin so. `content` None: it is gone."""

    path: str
    damage: str
    content: bytes | None
    is_last: bool = False
    """The last segment of the last log."""

    def kind(self) -> str:
        if self.path in LOSSES:
            return f"{self.path}, all of it"
        if self.path.startswith("sstables/00000000/"):
            return "METADATA SSTable"
        if self.path.startswith("sstables/"):
            return "user SSTable"
        if self.path.startswith("trash/"):
            return "SSTable in the trash"
        if self.path.endswith("/synced"):
            return "high-water mark of a log"
        if self.path.endswith("/manifest"):
            return "manifest of a log"
        if self.path.startswith("fenced/"):
            return "marker of a fenced log"
        if self.path.startswith("logs/"):
            return LOG_END if self.is_last else LOG
        return f"{self.path.split('servers.s')[0]}servers.s*" if "/servers.s" in self.path else self.path

    def apply(self, disk: MemoryDisk) -> MemoryDisk:
        copy = disk_copy(disk)
        if self.content is None:
            for path in list(copy.files):
                if path.startswith(LOSSES.get(self.path, self.path)):
                    del copy.files[path]
        else:
            copy.files[self.path] = MemoryContent(self.content, len(self.content), 0)
        return copy


@dataclass
class Outcome:
    """`faults`: what must not be."""

    case: Case
    check: str = ""
    served: str = ""
    repaired: str = ""
    faults: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


def cases(life: Life, chance: random.Random, flips: int) -> Iterator[Case]:
    paths = sorted(life.disk.files.keys() - {NUMBERS})
    yield from (Case(name, "removed", None) for name in LOSSES)
    last = max((path for path in paths if path.startswith("logs/") and path.endswith((".log", SUFFIX))), default="")
    for path in paths:
        yield from (replace(case, is_last=path == last) for case in _damages(life, path, paths, chance, flips))


def _damages(life: Life, path: str, paths: list[str], chance: random.Random, flips: int) -> Iterator[Case]:
    content = bytes(life.disk.files[path].content)
    yield Case(path, "removed", None)
    if not content:
        return
    yield Case(path, "half", content[: len(content) // 2])
    yield Case(path, "empty", b"")
    start = chance.randrange(len(content))
    yield Case(path, "noise", content[:start] + chance.randbytes(len(content) - start))
    yield Case(path, "zeros", content[:start] + bytes(len(content) - start))
    for _ in range(flips):
        flipped = bytearray(content)
        flipped[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        yield Case(path, "flipped", bytes(flipped))
    older = {bytes(disk.files[path].content) for disk in life.earlier if path in disk.files} - {content}
    for one in sorted(older):
        yield Case(path, "older", one)
    others = [other for other in paths if other != path and _folder(other) == _folder(path)]
    if life.versions.get(path):
        yield Case(path, "some older", chance.choice(life.versions[path]))
    if others:
        yield Case(path, "another's", bytes(life.disk.files[chance.choice(others)].content))


def _folder(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[:-1]) if parts[0] != "logs" else "logs"


# ------------------------------------------------------------ the three questions


def read_rows(cluster: EmbeddedCluster, life: Life) -> tuple[dict[tuple[bytes, bytes], dict[bytes, bytes]], list[str]]:
    """What is answered, each row for itself, so that one damaged block hides no other row; and messages of refusal."""
    found, refused = {}, []
    for name in TABLES:
        for row in sorted({*life.now[name], b"absent"}):
            try:
                rows = cluster.client.table(name).read_rows([row], ReadSpec())
            except NotFound:
                found[name, row] = {b"": b"no table"}
            except HbtableError as error:
                refused.append(f"{name.decode()} {row.decode()}: {error}")
            else:
                found[name, row] = {column: value for _, cells in rows for column, _, value in cells}
    return found, refused


def serve(disk: MemoryDisk, seed: int, life: Life) -> tuple[str, list[str]]:
    """(verdict, messages)."""
    runtime = SimulatedRuntime(seed, QUICK)
    fs = file_system(runtime, disk_copy(disk), life.kind)

    def main() -> tuple[str, list[str]]:
        try:
            cluster = start(runtime, fs)
        except HbtableError as error:
            return CLOSED, [str(error)]
        found, refused = read_rows(cluster, life)
        wrong = [
            f"{name.decode()} {row.decode()}: {state} instead of {life.now[name].get(row, {})}"
            for (name, row), state in found.items()
            if state != life.now[name].get(row, {})
        ]
        if wrong:
            return WRONG, wrong
        return (REFUSED, refused) if refused else (RIGHT, [])

    try:
        return runtime.run(main)
    except HbtableError as error:
        return CLOSED, [str(error)]
    except Exception as error:  # a trace instead of a message
        return CRASHED, [repr(error)]


def check(disk: MemoryDisk, seed: int, kind: str = LOCAL) -> list[str]:
    """The messages about damage."""
    return check_and_note(disk, seed, kind)[0]


def check_and_note(disk: MemoryDisk, seed: int, kind: str = LOCAL) -> tuple[list[str], list[str]]:
    """The messages about damage, and about what may be some."""
    runtime = SimulatedRuntime(seed, QUICK)
    try:
        checker = runtime.run(check_store, runtime, file_system(runtime, disk_copy(disk), kind))
    except UnsupportedFormat as error:
        return [str(error)], []  # one flipped bit makes another version, or another name
    return [finding.message() for finding in checker.findings], checker.notes()


def repaired(disk: MemoryDisk, seed: int, life: Life, case: Case, outcome: Outcome) -> None:
    """Repairs, then checks, starts, reads, writes, makes a table."""
    runtime = SimulatedRuntime(seed, QUICK)
    fs = file_system(runtime, disk_copy(disk), life.kind)
    try:
        report = runtime.run(repair_store, runtime, fs)
    except UnsupportedFormat as error:
        outcome.repaired = "refused"
        outcome.messages.append(str(error))
        outcome.faults += [f"repair refuses what the check finds sound: {error}"] * (not outcome.check)
        return
    except HbtableError as error:
        outcome.repaired = CLOSED
        outcome.faults.append(f"repair failed: {error}")
        return
    if bool(outcome.check) == report.is_empty:
        said = [*report.done, *report.lost, "nothing to do"][0]
        outcome.faults.append(f"the check says {outcome.check or 'sound'}, and the repair: {said}")
    left = check(fs.disk, seed + 1, life.kind)
    outcome.faults += [f"after the repair: {message}" for message in left]
    runtime = SimulatedRuntime(seed + 2, QUICK)
    after = file_system(runtime, disk_copy(fs.disk), life.kind)

    def main() -> None:
        cluster = start(runtime, after)
        found, refused = read_rows(cluster, life)
        outcome.faults += [f"after the repair, refused: {message}" for message in refused[:3]]
        _judge(found, life, case, report.lost, outcome)
        if DROPPED in cluster.client.names():
            _judge_dropped(cluster, case, report.done, outcome)
        _go_on(cluster)
        cluster.stop()

    try:
        runtime.run(main)
    except (HbtableError, AssertionError) as error:
        outcome.faults.append(f"after the repair: {error}")
    outcome.faults += [f"after the repair and a stop: {message}" for message in check(after.disk, seed + 3, life.kind)]
    outcome.messages += [*report.done, *(f"LOST: {message}" for message in report.lost)]


def _judge(
    found: dict[tuple[bytes, bytes], dict[bytes, bytes]], life: Life, case: Case, lost: list[str], outcome: Outcome
) -> None:
    old = [key for key, state in found.items() if state != life.now[key[0]].get(key[1], {})]
    outcome.repaired = "all back" if not old else f"{len(old)} rows older"
    for key in old:
        name, row = key
        if case.kind() in (LOG, LOG_END):
            if not _since_flushed(life, name, row, found[key]):
                flushed = life.since_flushed(name, row)[0]
                outcome.faults.append(f"{name!r} {row!r} was flushed as {flushed} and is {found[key]}")
            elif not lost and (outcome.check or case.kind() == LOG):
                outcome.faults.append(f"{name!r} {row!r} is older and nothing is said")
        elif case.kind() != "user SSTable":
            outcome.faults.append(f"{name!r} {row!r} is {found[key]} and not {life.now[name].get(row, {})}")
        elif not lost:
            outcome.faults.append(f"{name!r} {row!r} is older and nothing is said")


def _judge_dropped(cluster: EmbeddedCluster, case: Case, done: list[str], outcome: Outcome) -> None:
    """Where METADATA itself was destroyed, that a table was dropped may be known no more; its data must be gone."""
    if not case.kind().startswith(("METADATA", "lock service and METADATA")):
        outcome.faults.append("a table that was dropped came back")
    elif cluster.client.table(DROPPED).read_rows([b"x"], ReadSpec()) and not any("dropped" in one for one in done):
        outcome.faults.append("the data of a table that was dropped came back, and nothing is said")


def _since_flushed(life: Life, name: bytes, row: bytes, found: RowState) -> bool:
    """Each column as it was flushed or became later. A write in the middle of a log may be lost, and later ones not."""
    since = life.since_flushed(name, row)
    columns = {column for state in (found, *life.past[name, row]) for column in state}
    return all(found.get(column) in {state.get(column) for state in since} for column in columns)


def _go_on(cluster: EmbeddedCluster) -> None:
    """Everything that a store can do, on what was repaired."""
    client = cluster.client
    before = {tablet.tablet_id for tablet in client.catalog.all_tablet_rows()}
    client.admin.create_table(TableSchema(b"later", {b"f": FamilySchema(b"f")}))
    (made,) = client.admin.tablets(b"later")
    assert made.tablet_id not in before, "a tablet's id was given out again"
    for name in (*TABLES, b"later"):
        family = next(iter(client.table(name).record().schema.families))
        client.table(name).mutate([RowMutation(b"zzz", [(PUT, family, b"q", SERVER_TIME, b"new")])])
        client.admin.major_compact(name)
        rows = client.table(name).read_rows([b"zzz"], ReadSpec())
        assert [value for _, cells in rows for _, _, value in cells] == [b"new"], f"{name!r} does not take writes"


def run_case(life: Life, case: Case, seed: int) -> Outcome:
    """All three, on copies."""
    disk = case.apply(life.disk)
    outcome = Outcome(case)
    messages, notes = check_and_note(disk, seed, life.kind)
    outcome.check = f"{len(messages)} damaged" if messages else ""
    outcome.messages += messages + notes
    outcome.served, told = serve(disk, seed + 1, life)
    outcome.messages += told[:3]
    if outcome.served == WRONG and case.kind() == LOG_END and not messages:
        outcome.served = "older, noted" if notes else "older, silently"
        if not notes and case.damage not in CUTS:
            outcome.faults.append(f"older, and the check does not say that anything was dropped: {told[0]}")
    elif outcome.served == WRONG:
        outcome.faults.append(f"a wrong answer: {told[0]}")
    if outcome.served == CRASHED:
        outcome.faults.append(f"a trace instead of a message: {told[0]}")
    if outcome.served in (REFUSED, CLOSED) and not messages:
        outcome.faults.append(f"not served, and the check found nothing: {told[0]}")
    repaired(disk, seed + 10, life, case, outcome)
    return outcome


def table(outcomes: list[Outcome]) -> list[str]:
    """One line for each kind of file and damage."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.case.kind(), outcome.case.damage), []).append(outcome)
    lines = [f"{'file':<38}{'damage':<12}{'cases':>6}  {'check noticed':<14}{'served':<34}repaired"]
    for (kind, damage), some in sorted(groups.items()):
        noticed = sum(bool(one.check) for one in some)
        served = ", ".join(f"{word} {count}" for word, count in sorted(Counter(one.served for one in some).items()))
        words = Counter(
            "all back" if one.repaired == "all back" else one.repaired.lstrip("0123456789 ") for one in some
        )
        back = ", ".join(f"{word} {count}" for word, count in sorted(words.items()))
        faults = sum(bool(one.faults) for one in some)
        lines.append(
            f"{kind:<38}{damage:<12}{len(some):>6}  {noticed:<14}{served:<34}{back}"
            + (f"  FAULTS {faults}" * bool(faults))
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--flips", type=int, default=6, help="flipped bits for each file")
    parser.add_argument("--only", default="", help="files whose paths begin so")
    parser.add_argument(
        "--kind", choices=(LOCAL, HDFS, WEBHDFS), default=LOCAL, help="a single server's, or a cluster's"
    )
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time()) % 100_000
    print(f"seed {seed}")
    logging.disable(logging.CRITICAL)  # each damage is logged
    outcomes: list[Outcome] = []
    for stopped in (True, False):
        life = live(seed, stopped, arguments.kind)
        chance = random.Random(f"damage {seed}")
        for number, case in enumerate(cases(life, chance, arguments.flips)):
            if not case.path.startswith(arguments.only):
                continue
            outcome = run_case(life, case, seed * 1000 + number)
            outcomes.append(outcome)
            if outcome.faults or arguments.verbose:
                print(f"{'stopped' if stopped else 'killed'}: {case.path} {case.damage}: {outcome.faults}")
                for message in outcome.messages:
                    print(f"    {message[:300]}")
    print("\n".join(table(outcomes)))
    faults = sum(bool(outcome.faults) for outcome in outcomes)
    print(f"{len(outcomes)} cases, {faults} with faults")
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()

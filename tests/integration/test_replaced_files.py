"""One file after the other of a database in use is replaced by its older copy: the database ends, or nothing that it
acknowledged is missing when it is killed then."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import hbtable
from hbtable.errors import LockLost
from hbtable.fs import known_files
from tests.harness.tiers import taking_turns

CONFIG = {"log.segment_bytes": 5000}
"""The log soon goes on to another segment."""


RANDOM = random.Random(18)


def in_place(old: Path, path: Path) -> None:
    path.write_bytes(old.read_bytes())


def renamed(old: Path, path: Path) -> None:
    new = path.with_name(f"{path.name}.restored")
    shutil.copy2(old, new)
    new.rename(path)


def different(backup: Path, root: Path) -> list[str]:
    """Files of the backup of which the folder has others by now, or none."""
    files = (path.relative_to(backup) for path in sorted(backup.rglob("*")) if path.is_file())
    return [
        str(path)
        for path in files
        if not (root / path).is_file() or (root / path).read_bytes() != (backup / path).read_bytes()
    ]


def put_some(database: hbtable.EmbeddedDatabase, name: str, kept: dict[str, dict[bytes, bytes]]) -> None:
    for _ in range(12):
        row, value = b"r%d" % len(kept[name]), RANDOM.randbytes(1000)
        database.table(name).put(row, {b"f:q": value})
        kept[name][row] = value


def look(database: hbtable.EmbeddedDatabase) -> None:
    """As its watch does ten times a second, at all files."""
    assert database._shared is not None
    for _ in range(3):
        database._portal.call(database._shared.calls._watch.look)


def replaced(folder: Path, number: int, how: Callable[[Path, Path], None]) -> str | None:
    """Replaces the file of this number in a database. Its path; None: there are not so many."""
    root, killed = folder / "data", folder / "killed"
    backups = [folder / "first life", folder / "second life"]
    kept: dict[str, dict[bytes, bytes]] = {"t": {}, "u": {}}
    with hbtable.open(str(root), config=CONFIG) as database:
        database.create_table("t", ["f"])
        put_some(database, "t", kept)
        shutil.copytree(root, backups[0])
        put_some(database, "t", kept)
    with hbtable.open(str(root), config=CONFIG) as database:
        put_some(database, "t", kept)
        shutil.copytree(root, backups[1])
        database.create_table("u", ["f"])
        database.flush_table("t")
        for name in kept:
            put_some(database, name, kept)
        older = [(backup / path, path) for backup in backups for path in different(backup, root)]
        if number >= len(older):
            return None
        old, path = older[number]
        (root / path).parent.mkdir(exist_ok=True)
        how(old, root / path)
        try:
            look(database)
            put_some(database, "t", kept)
            look(database)
        except LockLost:
            return path
        shutil.copytree(root, killed)
    with hbtable.open(str(killed)) as database:
        for name, rows in kept.items():
            assert {row: data[b"f:q"] for row, data in database.table(name).scan()} == rows, path
    return path


@pytest.mark.parametrize("how", taking_turns([in_place, renamed], 2))  # a database is opened three times for each file
def test_an_older_copy_of_a_file_ends_the_database_or_does_no_harm(
    tmp_path: Path, how: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A look is at some files, and all of them take a second and more: what is killed before may miss what a log had.
    monkeypatch.setattr(known_files, "_ROUND_SECONDS", 0.0)
    monkeypatch.setattr(known_files, "_LOOK_SECONDS", 60.0)
    monkeypatch.setattr(known_files, "_LOOKS", 10_000)
    paths = []
    while path := replaced(tmp_path / str(len(paths)), len(paths), how):
        paths.append(path)
    assert {"lockservice/epochs", "metadata/root-tablet"} <= set(paths)
    assert [path for path in paths if path.startswith("logs/")]

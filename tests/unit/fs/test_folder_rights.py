"""A data folder is its owner's alone: one that others could read is closed to them, one that they could change is
refused."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hbtable.access.store import AccountFile
from hbtable.errors import InvalidConfiguration
from hbtable.fs import folder_rights
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.folder_rights import close_to_others

STRANGER, ROOT = 4711, 0


def mode(root: Path) -> int:
    return stat.S_IMODE(root.stat().st_mode)


def folder(tmp_path: Path, rights: int, used: bool) -> Path:
    root = tmp_path / "data"
    root.mkdir()
    if used:
        DataFolder.open(str(root)).close()
    root.chmod(rights)
    return root


def run_by(monkeypatch: pytest.MonkeyPatch, user: int, owner: int) -> None:
    """As if this process were `user`'s, and the folder `owner`'s."""
    of, of_file = os.stat, os.fstat

    def owned(status: os.stat_result, by: int) -> os.stat_result:
        values = list(status)
        values[stat.ST_UID] = by
        return os.stat_result(values)

    def of_folder(path: Any, **more: Any) -> os.stat_result:
        return owned(of(path, **more), owner)

    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "stat", of_folder)
    monkeypatch.setattr(os, "fstat", lambda descriptor: owned(of_file(descriptor), user))


READ = [(0o755, 0o750), (0o775, 0o770), (0o750, 0o750), (0o770, 0o770), (0o700, 0o700), (0o701, 0o700)]


@pytest.mark.parametrize(("before", "after"), READ, ids=[f"{before:o}" for before, _ in READ])
def test_a_folder_of_an_earlier_version_opens_and_loses_everybody_elses_rights(
    tmp_path: Path, before: int, after: int
) -> None:
    """By the umasks 022 and 002, and by people."""
    root = folder(tmp_path, before, used=True)
    DataFolder.open(str(root)).close()
    assert mode(root) == after


@pytest.mark.parametrize("rights", [0o777, 0o1777, 0o702, 0o773])
def test_a_folder_that_everybody_may_change_is_refused_until_somebody_has_looked(tmp_path: Path, rights: int) -> None:
    root = folder(tmp_path, rights, used=True)
    users = AccountFile(str(root))
    for opens in (
        lambda: DataFolder.open(str(root)),
        lambda: users.change(lambda accounts: accounts.with_user("ann", None)),
    ):
        with pytest.raises(InvalidConfiguration) as refused:
            opens()
        assert f"the data folder {root} cannot be used: everybody on this machine may change" in str(refused.value)
        assert f"(mode {rights:04o})" in str(refused.value)
        assert str(refused.value).endswith(f"chmod 700 {root}")
        assert mode(root) == rights, "nothing was done about it that would hide it"
    root.chmod(0o700)
    DataFolder.open(str(root)).close()


def test_a_list_of_users_that_everybody_could_have_put_there_is_not_believed(tmp_path: Path) -> None:
    root = folder(tmp_path, 0o700, used=False)
    AccountFile(str(root)).change(lambda accounts: accounts.with_user("ann", None))
    root.chmod(0o777)
    with pytest.raises(InvalidConfiguration, match="everybody on this machine may change"):
        DataFolder.open(str(root))


@pytest.mark.parametrize("traces", [(), ("LOCK",), ("lost+found", "LOCK")])
def test_an_empty_folder_is_closed_whatever_it_was(tmp_path: Path, traces: tuple[str, ...]) -> None:
    """A volume that a machine was just given."""
    root = folder(tmp_path, 0o777, used=False)
    for name in traces:
        (root / name).touch() if name == "LOCK" else (root / name).mkdir()
    DataFolder.open(str(root)).close()
    assert mode(root) == 0o770


def test_what_came_while_an_empty_folder_was_closed_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, close = folder(tmp_path, 0o777, used=False), os.chmod

    def after_somebody_else(path: str, rights: int) -> None:
        (root / "users").touch()
        close(path, rights)

    monkeypatch.setattr(os, "chmod", after_somebody_else)
    with pytest.raises(InvalidConfiguration, match="everybody on this machine may change"):
        close_to_others(str(root))
    assert mode(root) == 0o777, "or the next start would believe it"


def test_a_lock_that_another_user_put_into_an_empty_folder_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, precious, of = folder(tmp_path, 0o777, used=False), tmp_path / "precious", os.lstat
    precious.write_bytes(b"of the user of hbtable")
    (root / "LOCK").symlink_to(precious)

    def of_a_stranger(path: Any, **more: Any) -> os.stat_result:
        values = list(of(path, **more))
        values[stat.ST_UID] = STRANGER
        return os.stat_result(values)

    monkeypatch.setattr(os, "lstat", of_a_stranger)
    with pytest.raises(InvalidConfiguration, match="everybody on this machine may change"):
        DataFolder.open(str(root))
    assert precious.read_bytes() == b"of the user of hbtable"


def test_the_way_out_of_a_folder_of_roots_is_one_that_can_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A volume of a container: chmod 700 alone would shut out the user that hbtable runs as."""
    root = folder(tmp_path, 0o777, used=True)
    run_by(monkeypatch, user=STRANGER, owner=ROOT)
    with pytest.raises(InvalidConfiguration) as refused:
        close_to_others(str(root))
    assert str(refused.value).endswith(
        f"move them to a new folder, inside it for example, and name that; or, as root, chown {STRANGER} {root} and "
        f"chmod 700 {root}"
    )


@pytest.mark.parametrize("used", [False, True])
def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: bool) -> None:
    root = folder(tmp_path, 0o770, used)
    run_by(monkeypatch, user=STRANGER + 1, owner=STRANGER)
    with pytest.raises(InvalidConfiguration, match=f"it belongs to user {STRANGER}, and this process is user"):
        close_to_others(str(root))


@pytest.mark.parametrize(("user", "owner"), [(ROOT, STRANGER), (STRANGER, STRANGER), (STRANGER, ROOT)])
def test_ones_own_and_roots_are_believed_and_root_believes_everybodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, owner: int
) -> None:
    root = folder(tmp_path, 0o750, used=True)
    run_by(monkeypatch, user, owner)
    close_to_others(str(root))


def without_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    """As FAT is mounted: everything is 0777, and a change of that is passed over."""
    of, of_file = os.stat, os.fstat

    def open_to_all(status: os.stat_result) -> os.stat_result:
        values = list(status)
        values[stat.ST_MODE] |= 0o777
        return os.stat_result(values)

    def of_folder(path: Any, **more: Any) -> os.stat_result:
        return open_to_all(of(path, **more))

    monkeypatch.setattr(os, "stat", of_folder)
    monkeypatch.setattr(os, "fstat", lambda descriptor: open_to_all(of_file(descriptor)))
    monkeypatch.setattr(os, "chmod", lambda path, rights: None)


def test_where_a_file_system_keeps_no_rights_a_folder_opens_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root = folder(tmp_path, 0o700, used=True)
    without_rights(monkeypatch)
    close_to_others(str(root))
    assert f"everybody on this machine has a right to {root} (mode 0777): its file system keeps none" in caplog.text


def test_where_a_file_system_keeps_no_owners_a_folder_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder(tmp_path, 0o770, used=True)
    run_by(monkeypatch, user=STRANGER + 1, owner=STRANGER)
    monkeypatch.setattr(os, "fstat", lambda descriptor, of=os.stat: of(root))
    close_to_others(str(root))


def test_a_folder_whose_rights_are_somebody_elses_opens_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: str, rights: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    tmp_path.chmod(0o755)
    monkeypatch.setattr(os, "chmod", refuse)
    DataFolder.open(str(tmp_path)).close()
    assert "everybody on this machine has a right to" in caplog.text


def test_where_nothing_can_be_tried_what_a_folder_shows_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**where: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    root = folder(tmp_path, 0o777, used=True)
    monkeypatch.setattr(folder_rights.tempfile, "TemporaryFile", full)
    with pytest.raises(InvalidConfiguration, match="chmod 700"):
        close_to_others(str(root))

"""`hbtable user`, called in this process."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hbtable.access.store import AccountFile
from hbtable.fs.data_folder import DataFolder
from hbtable.launch.cli.command import main


def user(folder: Path, *arguments: str, given: str = "") -> Result:
    done = CliRunner().invoke(
        main, ["user", *arguments, "--data", str(folder)], input=given, env={"HBTABLE_CONFIG": ""}
    )
    assert "correct horse" not in done.output
    return done


def test_users_are_added_listed_and_removed(tmp_path: Path) -> None:
    assert user(tmp_path, "list").output == ""
    assert user(tmp_path, "add", "ann", given="correct horse\n").exit_code == 0
    assert user(tmp_path, "add", "program", "--no-password").exit_code == 0
    assert user(tmp_path, "list").output == "ann: password\nprogram: no password\n"
    kept = AccountFile(str(tmp_path)).read().account("ann").password
    assert kept is not None
    assert kept.matches(b"correct horse")
    removed = user(tmp_path, "remove", "ann")
    assert removed.exit_code == 0
    assert "user_permission '.*'" in removed.output
    assert "the next user ann has them" in removed.output
    assert user(tmp_path, "list").output == "program: no password\n"


def test_a_password_is_changed(tmp_path: Path) -> None:
    user(tmp_path, "add", "ann", "--no-password")
    assert user(tmp_path, "password", "ann", given="correct horse\n").exit_code == 0
    kept = AccountFile(str(tmp_path)).read().account("ann").password
    assert kept is not None
    assert kept.matches(b"correct horse")


def test_a_token_is_printed_once_and_can_be_revoked(tmp_path: Path) -> None:
    user(tmp_path, "add", "ann", "--no-password")
    printed = user(tmp_path, "token", "ann", "--days", "1").output
    assert re.fullmatch(r"hbt\.[0-9a-f]{12}\.[A-Za-z0-9_-]{43}\n", printed)
    token_id = printed.split(".")[1]
    assert re.fullmatch(rf"ann: no password, token {token_id} until \d{{4}}-\d\d-\d\d\n", user(tmp_path, "list").output)
    assert user(tmp_path, "token", "ann", "--revoke", token_id).exit_code == 0
    assert user(tmp_path, "list").output == "ann: no password\n"


@pytest.mark.parametrize(
    ("arguments", "given", "code", "words"),
    [
        (["add", "ann,f"], "correct horse\n", 1, "'ann,f' is no name of a user"),
        (["add", "ben"], "short\n", 1, "a password has at least 8 letters"),
        (["add", "ben"], "hbt.2026.winter\n", 1, "a password has another form than a token"),
        (["add", "ben"], "", 1, "standard input has no password"),
        (["add", "ann"], "correct horse\n", 1, "there is a user ann already"),
        (["remove", "carl"], "", 1, "there is no user 'carl'"),
        (["password", "carl"], "correct horse\n", 1, "there is no user 'carl'"),
        (["token", "carl"], "", 1, "there is no user 'carl'"),
        (["token", "ann", "--revoke", "x"], "", 1, "ann has no token 'x'"),
        (["list", "--cluster"], "", 1, "--data is of a single server"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    tmp_path: Path, arguments: list[str], given: str, code: int, words: str
) -> None:
    user(tmp_path, "add", "ann", "--no-password")
    before = (tmp_path / "users").read_bytes()
    done = user(tmp_path, *arguments, given=given)
    assert (done.exit_code, words in done.output) == (code, True), done.output
    assert (tmp_path / "users").read_bytes() == before


def test_a_new_folder_that_only_has_users_becomes_a_data_folder(tmp_path: Path) -> None:
    user(tmp_path, "add", "ann", "--no-password")
    DataFolder.open(str(tmp_path)).close()
    assert user(tmp_path, "list").output == "ann: no password\n"


@pytest.mark.parametrize("command", [["list"], ["add", "ann", "--no-password"], ["remove", "ann"], ["token", "ann"]])
def test_a_file_is_no_data_folder(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").write_text("mine")
    done = user(tmp_path / "file", *command)
    assert done.exit_code == 1
    assert "file is no folder: --data DIR is the data folder of the server" in done.output
    assert (tmp_path / "file").read_text() == "mine"

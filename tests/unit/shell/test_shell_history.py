"""The shell's history where its file can be kept, and where it cannot."""

import io
import os
from pathlib import Path

import pytest

from hbtable.shell.prompt.history import history


def folder_is_a_file(state: Path) -> None:
    state.write_text("")


def file_is_a_folder(state: Path) -> None:
    (state / "hbtable" / "history").mkdir(parents=True)


def link_leads_nowhere(state: Path) -> None:
    (state / "hbtable").mkdir(parents=True)
    (state / "hbtable" / "history").symlink_to(state / "gone" / "history")


def link_to_itself(state: Path) -> None:
    state.symlink_to(state)


@pytest.mark.parametrize("spoil", [folder_is_a_file, file_is_a_folder, link_leads_nowhere, link_to_itself])
def test_a_session_without_a_file_remembers_what_it_typed_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spoil: object
) -> None:
    state = tmp_path / "state"
    assert callable(spoil)
    spoil(state)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    said = io.StringIO()
    kept = history(said)
    kept.append_string("list")
    assert kept.get_strings() == ["list"]
    assert said.getvalue().startswith(f"What you type is not kept for the next session: {state}")


@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "HOME"])
def test_the_next_session_knows_what_this_one_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    said = io.StringIO()
    history(said).append_string("get 't', 'r'")
    assert list(history(said).load_history_strings()) == ["get 't', 'r'"]
    assert said.getvalue() == ""


def test_nobody_else_reads_what_was_typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "hbtable"
    before = os.umask(0o022)
    try:
        history(io.StringIO()).append_string("put 't', 'r', 'f:a', 'secret'")
    finally:
        os.umask(before)
    file = folder / "history"
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    file.chmod(0o644)  # as earlier versions made it
    history(io.StringIO())
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_link_to_nothing_keeps_nothing_and_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    changed: list[object] = []
    monkeypatch.setattr("os.fchmod", lambda *arguments: changed.append(arguments))
    (tmp_path / "hbtable").mkdir()
    (tmp_path / "hbtable" / "history").symlink_to(os.devnull)
    history(io.StringIO()).append_string("list")
    assert changed == []


@pytest.mark.parametrize("home", [None, ""])
def test_without_home_nothing_is_made_where_the_shell_was_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False) if home is None else monkeypatch.setenv("HOME", home)

    def nobody(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    said = io.StringIO()
    kept = history(said)
    kept.append_string("list")
    assert kept.get_strings() == ["list"]
    assert said.getvalue() == "What you type is not kept for the next session: this user has no home folder\n"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_goes_away_costs_the_session_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    kept = history(io.StringIO())
    (tmp_path / "hbtable" / "history").unlink()
    (tmp_path / "hbtable" / "history").mkdir()
    kept.append_string("list")
    assert kept.get_strings() == ["list"]
    assert list(kept.load_history_strings()) == []

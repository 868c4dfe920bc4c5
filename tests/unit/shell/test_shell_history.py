"""The shell's history where its file can be kept, and where it cannot."""

import io
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

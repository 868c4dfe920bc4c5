"""What the launcher of `hbtable start --servers N` says and does before its server processes are there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.launch.config.sections import ServerOptions, read_configuration
from hbtable.launch.servers.launcher import Launcher


@pytest.fixture
def launcher(tmp_path: Path) -> Any:
    gets: Any = None
    return Launcher(read_configuration(None, {}, []), ServerOptions(), str(tmp_path), 1, gets)


def test_it_is_not_ready_before_all_is_served_nor_while_no_process_serves(launcher: Any) -> None:
    launcher._children = SimpleNamespace(is_any_ready=True)
    assert launcher._not_served() == ["the server processes are starting"]
    launcher._serving.set()
    assert launcher._not_served() == []
    launcher._children.is_any_ready = False
    assert launcher._not_served() == ["no server process serves"]


def test_it_may_be_asked_to_reload_before_it_has_processes(launcher: Any) -> None:
    launcher.reload()

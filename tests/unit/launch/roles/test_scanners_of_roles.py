"""Scanners of a role's last orderly stop are back before a client can ask for them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import Unavailable
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.roles.role_gateway import RoleGateway
from hbtable.launch.thrift_gateway import scanners_file
from hbtable.testing.simulated.runtime import SimulatedRuntime

SAVED = b"where they are"


class Gateway:
    """Tells what had been restored when its port was opened."""

    def __init__(self, port: int, opens: Callable[[], None] = lambda: None) -> None:
        self.port = port
        self.scanners = self
        self.restored: list[bytes] = []
        self.when_opened: list[bytes] | None = None
        self._opens = opens

    def start(self, host: str) -> None:
        self._opens()
        self.when_opened = list(self.restored)

    def restore(self, saved: bytes) -> None:
        self.restored.append(saved)

    def save(self) -> bytes:
        return b"".join(self.restored)


def role(gateway: Gateway, configured: int, fs: Any) -> RoleGateway:
    configuration: Any = SimpleNamespace(options=lambda section, kind: kind())
    listen: Any = SimpleNamespace(thrift_port=configured, announced=lambda: "here")
    environment: Any = SimpleNamespace(fs=fs)
    runtime: Any = None
    made = RoleGateway(runtime, configuration, listen, environment)
    server: Any = gateway
    made.server = server
    return made


@pytest.mark.parametrize("configured", [9090, 0])
def test_scanners_are_back_when_the_port_opens(configured: int) -> None:
    """Where any free port is taken, nobody knows it before."""
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)
    gateway = Gateway(9090)

    def main() -> None:
        fs.write_file(scanners_file("here-9090"), SAVED)
        role(gateway, configured, fs).open()
        assert not fs.exists(scanners_file("here-9090")), "after a crash they must not come back a second time"

    runtime.run(main)
    assert gateway.when_opened == ([SAVED] if configured else [])
    assert gateway.restored == [SAVED]


@pytest.mark.parametrize("saved", [True, False])
def test_where_the_port_cannot_be_opened_they_wait_for_the_next_start(saved: bool) -> None:
    """Without any, nothing is written: the process that still has the port may be about to save its own."""
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)

    def taken() -> None:
        raise Unavailable("the port is in use")

    def main() -> None:
        path = scanners_file("here-9090")
        if saved:
            fs.write_file(path, SAVED)
        with pytest.raises(Unavailable):
            role(Gateway(9090, taken), 9090, fs).open()
        assert fs.exists(path) == saved
        if saved:
            assert fs.read_file(path) == SAVED

    runtime.run(main)

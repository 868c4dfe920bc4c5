"""A real ZooKeeper of three members, each of which can be killed, frozen and started again."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.harness.free_ports import free_ports
from tests.harness.real_servers import ServerPlace, run_starter, until_ended
from tests.harness.waiting import SOON_SECONDS, eventually

_ASK_SECONDS: Final = 10.0


class ZooKeeperEnsemble:
    """Three members, 1 to 3. One that the others have not heard of for 2 s is left out; two of them are enough."""

    MEMBERS: Final = (1, 2, 3)

    def __init__(self, port: int, folder: Path) -> None:
        self._port = port
        self._place = ServerPlace(folder)
        self.address = ",".join(f"127.0.0.1:{port + member - 1}" for member in self.MEMBERS)

    def kill(self, member: int) -> None:
        self._place.kill(f"zookeeper{member}")

    def freeze(self, member: int) -> None:
        """Its connections stay, with clients and with the others; nothing answers."""
        self._place.freeze(f"zookeeper{member}")

    def thaw(self, member: int) -> None:
        self._place.thaw(f"zookeeper{member}")

    def restart(self, member: int) -> None:
        """After kill(), with its data."""
        run_starter("real-zookeeper", "member", str(self._port), str(member))

    def says(self, member: int) -> dict[str, str]:
        """What `mntr` says: a value by its name, as text. Empty while the member does not serve."""
        try:
            with socket.create_connection(("127.0.0.1", self._port + member - 1), _ASK_SECONDS) as asking:
                asking.sendall(b"mntr")
                text = b"".join(iter(lambda: asking.recv(65536), b"")).decode()
        except OSError:
            return {}
        return dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)

    def leader(self) -> int | None:
        """None while there is none."""
        return next((member for member in self.MEMBERS if self._state(member) == "leader"), None)

    def wait_until_whole(self) -> int:
        """The leader, whom both others follow on return."""
        eventually(self._is_whole, 2 * SOON_SECONDS, "an ensemble of three")
        leader = self.leader()
        assert leader is not None
        return leader

    def wait_until_served_without(self, member: int) -> None:
        """On return one of the two others leads the other."""
        others = [other for other in self.MEMBERS if other != member]
        eventually(
            lambda: sorted(self._state(other) for other in others) == ["follower", "leader"],
            2 * SOON_SECONDS,
            f"a leader without member {member}",
        )

    def clients(self, without: int | None = None) -> int:
        """How many have a connection to one of the members; `without` one that does not answer."""
        members = [member for member in self.MEMBERS if member != without]
        # One connection of each is that of the question.
        return sum(max(0, int(self.says(one).get("zk_num_alive_connections", "0")) - 1) for one in members)

    def wait_until_refused_by(self, member: int) -> None:
        """On return it serves nobody, because it is alone."""
        eventually(lambda: not self._state(member), 2 * SOON_SECONDS, f"member {member} knows that it is alone")

    def _state(self, member: int) -> str:
        return self.says(member).get("zk_server_state", "")

    def _is_whole(self) -> bool:
        leader = self.leader()
        if leader is None or self.says(leader).get("zk_synced_followers") not in ("2", "2.0"):
            return False
        return all(self._state(member) for member in self.MEMBERS)


@contextmanager
def running_ensemble() -> Iterator[ZooKeeperEnsemble]:
    """Fresh ones; their processes are ended and their files deleted at the end."""
    port = free_ports(9)
    with until_ended("real-zookeeper", port) as folder:
        run_starter("real-zookeeper", "ensemble", str(port))
        ensemble = ZooKeeperEnsemble(port, folder)
        ensemble.wait_until_whole()
        yield ensemble

"""A real HDFS with two NameNodes, of which one is active, as real_servers.py has one with one."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.harness.free_ports import free_ports
from tests.harness.hdfs_health import HdfsHealth
from tests.harness.real_servers import HdfsServers, run_starter, until_ended
from tests.harness.waiting import SOON_SECONDS, eventually


class HdfsPair(HdfsServers):
    """Two NameNodes, of which the first is active at first, their journal, and DataNodes. The methods of one NameNode
    are those of the first."""

    def webhdfs(self, folder: str) -> str:
        return f"webhdfs://{self.web_addresses}{folder}"

    def hdfs(self, folder: str) -> str:
        return f"hdfs://{self.host}:{self.port},{self.host}:{self.port + 2}{folder}"

    @property
    def web_addresses(self) -> str:
        return f"{self.host}:{self.http_port},{self.host}:{self.http_port + 2}"

    def make_active(self, number: int) -> None:
        """1 or 2, whatever the other one is: so an operator does whose NameNode does not answer. It is out of safe
        mode on return."""
        run_starter("real-hdfs", "active", str(self.port), str(number), HDFS_PAIR="1")
        health = HdfsHealth(self.port + 2 * number - 2, self.datanodes)
        eventually(health.is_writable, 2 * SOON_SECONDS, f"NameNode {number} out of safe mode")

    def freeze(self, number: int) -> None:
        self.place.freeze(_namenode(number))

    def thaw(self, number: int) -> None:
        self.place.thaw(_namenode(number))

    def kill(self, number: int) -> None:
        """kill -9, unless it has ended itself, as one that was deposed does with the first edit it is asked for."""
        with suppress(ProcessLookupError):
            self.place.kill(_namenode(number))

    def runs(self, number: int) -> bool:
        """Whether NameNode `number` has not ended."""
        return self.place.runs(_namenode(number))

    def restart(self, number: int) -> None:
        """After kill(), or its own end: with its data, as standby, and it answers."""
        run_starter("real-hdfs", "namenode", str(self.port), "" if number == 1 else str(number), HDFS_PAIR="1")
        health = HdfsHealth(self.port + 2 * number - 2, self.datanodes)
        eventually(health.namenode_answers, 2 * SOON_SECONDS, f"NameNode {number}")


def _namenode(number: int) -> str:
    """The name of its process."""
    return "namenode" if number == 1 else f"namenode{number}"


@contextmanager
def running_hdfs_pair(datanodes: int = 2) -> Iterator[HdfsPair]:
    """Fresh ones, as running_hdfs."""
    port = free_ports(10 * datanodes + 3)
    with until_ended("real-hdfs", port) as folder:
        run_starter("real-hdfs", "start", str(port), str(datanodes), HDFS_PAIR="1")
        yield HdfsPair(port, datanodes, folder)

"""What is killed and frozen, in turn."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from tests.harness.real_servers import HdfsServers
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.waiting import freeze
from tests.harness.wrong_clock import WrongClock
from tests.harness.zookeeper_ensemble import ZooKeeperEnsemble

SESSION_SECONDS = 8.0
GIVE_UP_SECONDS = 30.0
APART_SECONDS = 140.0
"""Clocks are set right, or wrong by at most so much: two of them within five minutes of each other, as they may be
(tablet.max_clock_skew_seconds)."""


class Faults:
    """Each returns when the fault is over: what was frozen goes on, and what was killed was started again, by its
    supervisor or here. Returned: what was done, in words."""

    def __init__(
        self, cluster: ProcessCluster, hdfs: HdfsServers, ensemble: ZooKeeperEnsemble, chance: random.Random
    ) -> None:
        self._cluster, self._hdfs, self._ensemble, self._chance = cluster, hdfs, ensemble, chance
        self.kinds: dict[str, Callable[[], str]] = {
            "server killed": lambda: self._kill(self._some(cluster.servers, 1)),
            "master killed": lambda: self._kill(self._some(cluster.masters, 1)),
            "DataNode killed": self._datanode_killed,
            "ZooKeeper killed": self._zookeeper_killed,
            "server frozen shortly": lambda: self._freeze(cluster.servers, 0.2, 0.7),
            "DataNode frozen": self._datanode_frozen,
            "master frozen": lambda: self._freeze(cluster.masters, 0.3, 1.8),
            "ZooKeeper frozen": self._zookeeper_frozen,
            "NameNode killed": self._namenode_killed,
            "server frozen": lambda: self._freeze(cluster.servers, 1.1, 2.0),
            "NameNode frozen": self._namenode_frozen,
            "two servers killed": lambda: self._kill(self._some(cluster.servers, 2)),
            "two ZooKeepers frozen": self._two_zookeepers_frozen,
            "server and DataNode killed": self._server_and_datanode_killed,
            "all servers killed": lambda: self._kill(cluster.servers),
            "all masters killed": lambda: self._kill(cluster.masters),
            "HDFS killed": self._hdfs_killed,
            "clocks apart": self._clocks_apart,
            "clock jumps": self._clock_jumps,
            "killed with a wrong clock": self._killed_with_a_wrong_clock,
        }
        """The first ones are those that everything survives within seconds."""

    def in_turn(self, kinds: list[str]) -> Iterator[str]:
        """All of them, in an order that the seed decides, and then again."""
        while True:
            yield from self._chance.sample(kinds, len(kinds))

    def _some(self, roles: list[RoleProcess], count: int) -> list[RoleProcess]:
        return self._chance.sample(roles, count)

    def _kill(self, roles: list[RoleProcess]) -> str:
        for role in roles:
            for child in role.children():
                with suppress(ProcessLookupError):  # it is being started again just now
                    os.kill(child, signal.SIGKILL)
        return f"killed {', '.join(role.errors.stem for role in roles)}"

    def _freeze(self, roles: list[RoleProcess], least: float, most: float) -> str:
        """For so many sessions."""
        [role] = self._some(roles, 1)
        child = role.child()
        seconds = self._chance.uniform(least, most) * SESSION_SECONDS
        with suppress(ProcessLookupError):
            try:
                freeze(child)
                time.sleep(seconds)
            finally:
                os.kill(child, signal.SIGCONT)
        return f"froze {role.errors.stem} for {seconds:.1f} s"

    def _datanode_killed(self) -> str:
        number = self._chance.randint(1, self._hdfs.datanodes)
        self._hdfs.kill_datanode(number)
        seconds = self._wait(1, 10)
        self._hdfs.restart_datanode(number)
        return f"killed DataNode {number} for {seconds:.1f} s"

    def _datanode_frozen(self) -> str:
        number = self._chance.randint(1, self._hdfs.datanodes)
        self._hdfs.freeze_datanode(number)
        seconds = self._wait(1, 12)
        self._hdfs.thaw_datanode(number)
        return f"froze DataNode {number} for {seconds:.1f} s"

    def _namenode_killed(self) -> str:
        self._hdfs.kill_namenode()
        seconds = self._wait(0, 4)
        self._hdfs.restart_namenode()
        self._hdfs.wait_until_writable()
        return f"killed the NameNode for {seconds:.1f} s"

    def _namenode_frozen(self) -> str:
        self._hdfs.freeze_namenode()
        seconds = self._wait(1, 12)
        self._hdfs.thaw_namenode()
        return f"froze the NameNode for {seconds:.1f} s"

    def _hdfs_killed(self) -> str:
        self._hdfs.kill_all()
        self._hdfs.restart_all()
        return "killed the NameNode and all DataNodes"

    def _zookeeper_killed(self) -> str:
        member = self._chance.choice(self._ensemble.MEMBERS)
        self._ensemble.kill(member)
        seconds = self._wait(1, 6)
        self._ensemble.restart(member)
        return f"killed ZooKeeper {member} for {seconds:.1f} s"

    def _zookeeper_frozen(self) -> str:
        member = self._chance.choice(self._ensemble.MEMBERS)
        self._ensemble.freeze(member)
        seconds = self._wait(1, 6)
        self._ensemble.thaw(member)
        return f"froze ZooKeeper {member} for {seconds:.1f} s"

    def _two_zookeepers_frozen(self) -> str:
        members = self._chance.sample(self._ensemble.MEMBERS, 2)
        for member in members:
            self._ensemble.freeze(member)
        seconds = self._wait(1, 1.5 * SESSION_SECONDS)
        for member in members:
            self._ensemble.thaw(member)
        return f"froze ZooKeepers {members} for {seconds:.1f} s"

    def _server_and_datanode_killed(self) -> str:
        number = self._chance.randint(1, self._hdfs.datanodes)
        self._hdfs.kill_datanode(number)
        told = self._kill(self._some(self._cluster.servers, 1))
        seconds = self._wait(1, 6)
        self._hdfs.restart_datanode(number)
        return f"{told}, and DataNode {number} for {seconds:.1f} s"

    def _clocks_apart(self) -> str:
        """They stay so: servers that are started later find them, too."""
        told = []
        for role in (*self._cluster.masters, *self._cluster.servers):
            seconds = self._chance.uniform(-APART_SECONDS, APART_SECONDS)
            _clock_of(role).set(seconds)
            told.append(f"{role.errors.stem} {seconds:+.0f} s")
        return f"set clocks: {', '.join(told)}"

    def _clock_jumps(self) -> str:
        """By an hour to a year, and back some seconds later. Nobody believes it."""
        [role] = self._some([*self._cluster.masters, *self._cluster.servers], 1)
        return f"{self._far_off(role, lambda: self._wait(0.5, 6))} of {role.errors.stem}, for a moment"

    def _killed_with_a_wrong_clock(self) -> str:
        """What is started in its place ends, until the clock is right."""
        [role] = self._some([*self._cluster.masters, *self._cluster.servers], 1)

        def kill() -> None:
            self._kill([role])
            self._wait(2, 8)

        return f"{self._far_off(role, kill)} of {role.errors.stem}, which was killed"

    def _far_off(self, role: RoleProcess, meanwhile: Callable[[], object]) -> str:
        clock = _clock_of(role)
        before = clock.seconds
        hours = self._chance.choice([-1, 1]) * self._chance.choice([1, 10, 24, 24 * 365])
        clock.set(before + 3600 * hours)
        try:
            meanwhile()
        finally:
            clock.set(before)
        return f"a jump of {hours:+} hours of the clock"

    def _wait(self, least: float, most: float) -> float:
        seconds = self._chance.uniform(least, most)
        time.sleep(seconds)
        return seconds


def _clock_of(role: RoleProcess) -> WrongClock:
    assert role.clock is not None, "ProcessCluster(own_clocks=True)"
    return role.clock

"""Causes each fault of docs/operations.md ("When something is away", "What to watch") on a real ZooKeeper and HDFS, and
compares what clients, `status`, /metrics, /readyz and the logs show with what the page says.

    python -m tests.campaigns.table_of_faults [--fault NAME ...]

A client puts a row after the other all the time and notes what it was told; in the end every row that was acknowledged
is there. Printed: a line for each sentence of the page that was looked at.
"""

import argparse
import re
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from tests.campaigns.faulted_cluster import LONG, FaultedCluster
from tests.harness.real_servers import running_hdfs
from tests.harness.role_processes import ProcessCluster
from tests.harness.waiting import eventually
from tests.harness.zookeeper_ensemble import running_ensemble

SESSION_SECONDS: Final = 8.0
GIVE_UP_SECONDS: Final = 30.0
SETTINGS: Final = f"[log]\ngive_up_seconds = {GIVE_UP_SECONDS}\n[master]\nbalance_after_seconds = 1.0\n"
LEFT: Final = re.compile(r"logs/\S+ is left at byte.*")


class Faults(FaultedCluster):
    """Each causes one, and ends when it is over."""

    def a_tablet_server(self) -> None:
        master, victim = self.master(), self.living()[0]
        deaths = self.metric(master, "hbtable_server_deaths_total")
        recoveries = self.metric(master, "hbtable_log_recoveries_total")
        seen = len(master.log())
        self.putter.forget()
        victim.kill()

        def logged(*texts: str) -> bool:
            log = master.log()[seen:]
            return all(text in log for text in texts)

        self.comes(lambda: logged("is dead: nobody holds its lock"), "the master's log says who is dead")
        self.comes(lambda: logged("needs the log of", "is recovered"), "and waits for its log, which is recovered")
        self.comes(lambda: logged("everything is served"), "everything is served")
        self.comes(lambda: self.metric(master, "hbtable_unserved_tablets") == 0, "hbtable_unserved_tablets is 0")
        self.say(self.metric(master, "hbtable_server_deaths_total") == deaths + 1, "one death is counted")
        self.say(self.metric(master, "hbtable_log_recoveries_total") == recoveries + 1, "one recovery is counted")
        self.goes_on("afterwards")
        self.comes(lambda: " 0 dead" in self.shell("status"), "status lists no dead server any more")
        print(f"  longest pause {self.putter.longest:.1f} s; errors {self.putter.errors[:2]}")
        self.start_server()

    def a_silent_server(self) -> None:
        master, victim = self.master(), self.living()[0]
        self.putter.forget()
        victim.freeze()
        try:
            silent = 'hbtable_tablet_servers{state="silent"}'
            self.comes(lambda: self.metric(master, silent) >= 1, "a frozen server is silent", 2 * SESSION_SECONDS)
            self.comes(lambda: self.metric(master, silent) == 0, "its session ends, and it is dead")
            self.goes_on("without it")
        finally:
            victim.thaw()
        self.comes(lambda: victim.process.poll() == 3, "it ends with exit code 3 as it goes on")
        print(f"  longest pause {self.putter.longest:.1f} s; errors {self.putter.errors[:2]}")
        self.start_server()

    def the_master(self) -> None:
        self.putter.forget()
        old = self.master()
        old.kill()
        self.goes_on("without a master")
        with closing(self.living()[0].connect(10_000)) as connection:
            try:
                connection.create_table("unmade", {"f": {}})
            except Exception as error:
                self.say(True, f"a table cannot be made: {error!r}"[:250])
            else:
                self.say(False, "a table was made without a master")
        self.say(not self.putter.errors and self.putter.longest < 2.0, f"nobody waits: {self.putter.longest:.2f} s")
        victim = self.living()[0]
        victim.kill()
        time.sleep(2 * SESSION_SECONDS)
        self.say(self.still_has(victim), "its tablets wait for the next master")
        self.start_master()
        self.comes(lambda: self.metric(self.master(), "hbtable_is_master") == 1, "the next master")
        self.comes(lambda: not self.still_has(victim), "which gives them to others")
        self.goes_on("afterwards")
        self.start_server()

    def zookeeper_shortly(self) -> None:
        self.putter.forget()
        self.freeze_zookeepers(*self.ensemble.MEMBERS)
        time.sleep(SESSION_SECONDS / 4)
        self.thaw_zookeepers(*self.ensemble.MEMBERS)
        self.goes_on("after ZooKeeper was away for a quarter of a session")
        self.say(not self.putter.errors, f"nobody saw it: {self.putter.errors[:2]}, {self.putter.longest:.2f} s")

    def one_zookeeper(self) -> None:
        self.ensemble.wait_until_whole()
        roles = [self.master(), *self.living()]
        for what, lose, bring_back in (
            ("killed", self.ensemble.kill, self.ensemble.restart),
            ("frozen", self.ensemble.freeze, self.ensemble.thaw),
        ):
            leader = self.ensemble.wait_until_whole()
            self.putter.forget()
            lose(leader)
            self.goes_on(f"while the leader is {what}")
            self.ensemble.wait_until_served_without(leader)
            time.sleep(SESSION_SECONDS / 2)
            self.goes_on("with the two others")
            self.say(not self.putter.errors, f"no error: {self.putter.errors[:2]}")
            self.say(self.putter.longest < 2.0, f"no pause: {self.putter.longest:.2f} s")
            bring_back(leader)
        self.ensemble.wait_until_whole()
        self.say(all(one.process.poll() is None for one in roles), "nobody lost its lock")

    def two_zookeepers(self) -> None:
        leader = self.ensemble.wait_until_whole()
        self._zookeeper_long(leader, 1 + leader % 3)

    def zookeeper_long(self) -> None:
        self._zookeeper_long(*self.ensemble.MEMBERS)

    def _zookeeper_long(self, *members: int) -> None:
        roles = [self.master(), *self.living()]
        self.putter.forget()
        self.freeze_zookeepers(*members)
        server = self.living()[0]
        self.comes(
            lambda: self.page(server, "/readyz")[0] == 503 and "the lock service" in self.page(server, "/readyz")[1],
            "/readyz of a tablet server says 503: the lock service cannot be reached",
        )
        time.sleep(3 * SESSION_SECONDS)
        before = len(self.putter.acknowledged)
        time.sleep(2)
        self.say(len(self.putter.acknowledged) == before, "nothing is acknowledged")
        print(f"  roles that ended meanwhile: {[one.process.poll() for one in roles]}")
        self.thaw_zookeepers(*members)
        self.ensemble.wait_until_whole()
        time.sleep(3)
        ended = [one for one in roles if one.process.poll() is not None]
        print(f"  and after it came back: {[(one.errors.name, one.process.poll()) for one in ended]}")
        self.say(all(one.process.poll() == 3 for one in ended), "who lost its lock ended with exit code 3")
        self.start_what_ended()
        self.goes_on("once ZooKeeper is back, and roles were started")
        print(f"  longest pause {self.putter.longest:.1f} s; errors {sorted(set(self.putter.errors))[:3]}")

    def a_datanode(self) -> None:
        """One through which a log is written: each log has two of three."""
        said = sum(len(LEFT.findall(one.log())) for one in self.living())
        first = 0
        try:
            for first in range(1, self.hdfs.datanodes + 1):
                self.putter.forget()
                self.hdfs.kill_datanode(first)
                self.goes_on(f"without DataNode {first}")
                with suppress(AssertionError):
                    eventually(
                        lambda: sum(len(LEFT.findall(one.log())) for one in self.living()) > said, 20, "a segment left"
                    )
                    break
                self.hdfs.restart_datanode(first)
            self.say(self.putter.longest < 6.0, f"one long commit: {self.putter.longest:.1f} s")
            left = [line for one in self.living() for line in LEFT.findall(one.log())][said:]
            self.say(bool(left), f"a log names the segment that was left: {left[:1]}")
            self.comes(
                lambda: all(self.metric(one, "hbtable_log_copies") == 2 for one in self.living()), "two copies again"
            )
            self.hdfs.kill_datanode(1 + first % self.hdfs.datanodes)
            self.comes(
                lambda: any(self.metric(one, "hbtable_log_copies") < 2 for one in self.living()),
                "hbtable_log_copies below 2 with one DataNode left",
            )
            told = "copies instead of 2"
            self.comes(lambda: any(told in one.log() for one in self.living()), f"a log says `{told}`")
        finally:
            for number in range(1, self.hdfs.datanodes + 1):
                if not self.hdfs.place.runs(f"datanode{number}"):
                    self.hdfs.restart_datanode(number)
        self.comes(
            lambda: all(self.metric(one, "hbtable_log_copies") == 2 for one in self.living()),
            "two copies when they are back",
            2 * LONG,
        )

    def the_namenode(self) -> None:
        while len(self.living()) < 3:
            self.start_server()
        self.putter.forget()
        self.hdfs.freeze_namenode()
        try:
            time.sleep(8)
            before = len(self.putter.acknowledged)
            time.sleep(5)
            self.say(len(self.putter.acknowledged) == before, "nothing is acknowledged")
            self.say(len(self.living()) == 3, "every tablet server waits, within log.give_up_seconds")
            self.comes(lambda: len(self.living()) < 3, "a tablet server stops", 3 * GIVE_UP_SECONDS)
            ended = [one for one in self.cluster.servers if one.process.poll() is not None][-1]
            print(f"  {ended.errors.name}: {ended.process.poll()}: {ended.log().splitlines()[-1][:300]}")
        finally:
            self.hdfs.thaw_namenode()
        self.hdfs.wait_until_writable()
        self.start_what_ended()
        self.goes_on("when the NameNode is back")
        print(f"  longest pause {self.putter.longest:.1f} s; errors {sorted(set(self.putter.errors))[:3]}")

    def a_poisonous_tablet(self) -> None:
        """Whoever gets it is killed."""
        master = self.master()
        self.cluster.create_table("poison", [])
        seen, held = len(master.log()), re.compile(r"^.* ERROR .*master: tablet .* of table poison, .*$", re.MULTILINE)
        for death in range(1, 8):
            self.comes(lambda: self.is_there("poison"), f"the tablet is served before death {death}")
            self.cluster.server_of(self.cluster.owners("poison")[0]).kill()
            self.start_server()
            with suppress(AssertionError):
                eventually(lambda: held.search(master.log(), seen) is not None, 3 * SESSION_SECONDS, "a held tablet")
            if held.search(master.log(), seen):
                break
        told = held.search(master.log(), seen)
        self.say(told is not None and death == 5, f"after {death} deaths an error: {told and told[0][:250]}")
        self.comes(lambda: self.metric(master, "hbtable_held_tablets") >= 1, "hbtable_held_tablets is above 0", 9)
        self.goes_on("on all other tablets")
        began = time.monotonic()
        self.move("poison", self.living()[-1])
        self.comes(lambda: self.is_there("poison"), "`move` tries at once")
        self.say(time.monotonic() - began < 8.0, "and does not wait for ten seconds")
        self.comes(lambda: self.metric(master, "hbtable_held_tablets") == 0, "no tablet is held any more")
        self.shell("disable 'poison'")
        self.shell("drop 'poison'")


FAULTS: Final = {
    "tablet server": Faults.a_tablet_server,
    "silent server": Faults.a_silent_server,
    "poisonous tablet": Faults.a_poisonous_tablet,
    "master": Faults.the_master,
    "one of three ZooKeepers": Faults.one_zookeeper,
    "ZooKeeper shortly": Faults.zookeeper_shortly,
    "DataNode": Faults.a_datanode,
    "NameNode": Faults.the_namenode,
    "two of three ZooKeepers": Faults.two_zookeepers,
    "ZooKeeper": Faults.zookeeper_long,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fault", action="append", choices=list(FAULTS), default=[])
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="hbtable-faults-") as folder,
        running_hdfs(3) as hdfs,
        running_ensemble() as ensemble,
        ProcessCluster(
            Path(folder),
            ensemble.address,
            "/faults",
            hdfs.hdfs("/faults"),
            SESSION_SECONDS,
            SETTINGS + f'[hdfs]\nweb_addresses = "localhost:{hdfs.http_port}"\n',
        ) as cluster,
    ):
        faults = Faults(cluster, hdfs, ensemble)
        faults.start_master()
        for _ in range(3):
            faults.start_server()
        cluster.wait_until_served()
        cluster.create_table("t", [b"%02d" % number for number in range(10, 100, 10)])
        faults.putter.start()
        for name, cause in FAULTS.items():
            if arguments.fault and name not in arguments.fault:
                continue
            print(f"--- {name}", flush=True)
            cause(faults)
            eventually(lambda: faults.metric(faults.master(), "hbtable_unserved_tablets") == 0, LONG, "all is served")
        faults.check_rows()
        if faults.wrong:
            raise SystemExit("\n".join(faults.wrong))
    print("every fault looked as the page says")


if __name__ == "__main__":
    main()

"""The network of a simulated cluster: each fault does what it says, and a seed repeats a run."""

import pytest

from hbtable.errors import OutcomeUnknown, StaleLocation, Unavailable
from hbtable.model.read import EVERYTHING
from hbtable.rpc.faulty import MASTER, FaultyTransport, Network, NetworkFaults
from hbtable.rpc.local import LocalTransport
from hbtable.runtime.simulated import SimulatedRuntime


class Service:
    def __init__(self, runtime):
        self.runtime = runtime
        self.called = []

    def mutate(self, tablet_id, mutations):
        self.called.append(("mutate", self.runtime.clock_seconds()))

    def read_rows(self, tablet_id, rows, spec):
        self.called.append(("read_rows", self.runtime.clock_seconds()))
        return []

    def load_tablet(self, epoch, record, schema):
        self.called.append(("load_tablet", self.runtime.clock_seconds()))

    def delete_table(self, name):
        self.called.append(("delete_table", self.runtime.clock_seconds()))


class Bench:
    """Client "c" and server "s" with the master in it."""

    def __init__(self, seed=1, **faults):
        self.runtime = SimulatedRuntime(seed)
        self.network = Network(self.runtime, seed, NetworkFaults(**faults))
        self.service = Service(self.runtime)
        roles = LocalTransport()
        roles.register_server("s", self.service, self.service)
        roles.register_master(self.service)
        self.transport = FaultyTransport(self.network, "c", roles, lambda name: "s" if name == MASTER else name)
        self.own = FaultyTransport(self.network, "s", roles)

    def write(self):
        self.transport.tablet_service("s").mutate(1, [])

    def read(self):
        return self.transport.tablet_service("s").read_rows(1, [], EVERYTHING)

    @property
    def names(self):
        return [name for name, _ in self.service.called]


def test_without_faults_calls_pass():
    bench = Bench()

    def body():
        bench.write()
        assert bench.read() == []
        bench.transport.master().delete_table(b"t")

    bench.runtime.run(body)
    assert bench.names == ["mutate", "read_rows", "delete_table"]


def test_a_refused_call_was_not_begun():
    bench = Bench(refuse=1.0)

    def body():
        with pytest.raises(StaleLocation):
            bench.write()
        with pytest.raises(Unavailable):
            bench.transport.master().delete_table(b"t")

    bench.runtime.run(body)
    assert bench.names == []


@pytest.mark.parametrize(("fault", "carried_out"), [("drop_request", 0), ("drop_reply", 1)])
def test_a_lost_message_leaves_a_write_unknown_after_the_deadline(fault, carried_out):
    bench = Bench(**{fault: 1.0})

    def body():
        with pytest.raises(OutcomeUnknown):
            bench.write()
        assert bench.runtime.clock_seconds() == pytest.approx(30, abs=0.1)
        with pytest.raises(StaleLocation):
            bench.read()
        assert bench.runtime.clock_seconds() == pytest.approx(40, abs=0.1)

    bench.runtime.run(body)
    assert bench.names == ["mutate", "read_rows"] * carried_out


def test_a_late_call_is_carried_out_after_its_caller_gave_up():
    bench = Bench(late=1.0)

    def body():
        with pytest.raises(OutcomeUnknown):
            bench.write()
        assert bench.names == []
        bench.runtime.sleep(31)
        assert bench.names == ["mutate"]

    bench.runtime.run(body)


def test_only_what_may_be_repeated_is_doubled():
    bench = Bench(double=1.0)

    def body():
        bench.write()
        bench.read()
        bench.transport.tablet_admin("s").load_tablet(1, None, None)
        bench.transport.master().delete_table(b"t")
        bench.runtime.sleep(31)

    bench.runtime.run(body)
    assert sorted(bench.names) == ["delete_table", "load_tablet", "load_tablet", "mutate", "read_rows", "read_rows"]


def test_a_cut_is_one_way_and_does_not_reach_into_a_process():
    for sender, receiver, carried_out in (("c", "s", []), ("s", "c", ["mutate"])):
        bench = Bench()
        bench.network.cut(sender, receiver)

        def body(bench=bench, carried_out=carried_out):
            with pytest.raises(OutcomeUnknown):
                bench.write()
            assert bench.names == carried_out
            bench.own.tablet_service("s").mutate(1, [])
            bench.network.heal()
            bench.write()
            assert bench.names == [*carried_out, "mutate", "mutate"]

        bench.runtime.run(body)


def test_a_seed_repeats_a_run():
    def story(seed):
        bench = Bench(seed, refuse=0.2, drop_request=0.2, drop_reply=0.2, late=0.1, double=0.3, delay=0.5)
        told = []

        def body():
            for _ in range(40):
                for call in (bench.write, bench.read):
                    try:
                        call()
                        told.append("done")
                    except (StaleLocation, OutcomeUnknown) as error:
                        told.append(str(error))

        bench.runtime.run(body)
        return told, bench.service.called

    assert story(5) == story(5)
    assert story(5) != story(6)
    assert len(set(story(5)[0])) >= 4

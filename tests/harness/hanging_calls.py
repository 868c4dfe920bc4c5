"""Calls to one tablet server that hang: nothing is heard of them for as long as their callers wait."""

from collections import Counter
from functools import partial

from hbtable.errors import StaleLocation, no_answer
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.declaration import calls_of
from hbtable.rpc.services import TabletAdmin
from tests.harness.delegating_fake import DelegatingFake

CALLS = calls_of(TabletAdmin)


class Hung:
    """The calls that hang, by name, until `waker` rings. How often each was made stands in `asked`."""

    def __init__(self, runtime, names, concerns):
        assert set(names) <= CALLS.keys()
        self.names = set(names)
        self.waker = runtime.event()
        self.asked = Counter()
        self._concerns = concerns

    def hold(self, name, method, *arguments):
        if not self._concerns(*arguments):
            return method(*arguments)
        self.asked[name] += 1
        call = CALLS[name]
        if not self.waker.wait(RpcOptions().seconds(call.timeout)):
            lost = StaleLocation if call.changes_nothing else no_answer
            raise lost(f"{name} was not answered in time")
        return method(*arguments)


class Hangs(DelegatingFake):
    """A tablet server's administration. What `hung` names hangs on the way there."""

    def __init__(self, inner, hung):
        super().__init__(inner)
        self._hung = hung

    def __getattr__(self, name):
        method = getattr(self.inner, name)
        return partial(self._hung.hold, name, method) if name in self._hung.names else method


def hang(cluster, server, *names, concerns=lambda *arguments: True):
    """These calls to that server of a many_servers.Cluster hang from now on, those whose arguments are of its
    `concerns`."""
    transport, hung = cluster.transport, Hung(cluster.runtime, names, concerns)
    service, admin = transport.tablet_service(server), transport.tablet_admin(server)
    transport.register_server(server, service, Hangs(admin, hung))
    return hung

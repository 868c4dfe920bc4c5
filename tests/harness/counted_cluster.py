"""Many servers and one master, whose questions are counted."""

from collections import Counter

from hbtable.master.master import Master, MasterOptions
from tests.harness.counted_transport import CountedTransport
from tests.harness.many_servers import Cluster, Node, Remote


class CountedCluster(Cluster):
    """What the master asks, by call; of METADATA, the rows as well."""

    def __init__(self, seed, options):
        super().__init__(seed, options)
        self.asked = Counter()
        self.master_transport = CountedTransport
        """Makes what the master asks through, of a transport and `asked`."""

    def start_master(self):
        node = self.master_node = Node(self, self._name("master"))
        transport = self.master_transport(self.transport, self.asked)
        options = MasterOptions()
        self.master = Master(node.runtime, node.session, node.fs, transport, lambda: None, options)
        self.transport.register_master(Remote(self, node, self.master.calls))
        self.master.start()

    def tablets(self):
        """How many each living server serves."""
        return [len(role._online_tablets.tablets) for _, role in self.servers.values()]

    def until(self, done, seconds):
        """The virtual seconds that it took."""
        began = self.runtime.clock_seconds()
        while not done():
            assert self.runtime.clock_seconds() < began + seconds, (self.tablets(), self.master.last_message)
            self.runtime.sleep(0.1)
        return self.runtime.clock_seconds() - began

    def is_even(self):
        return max(self.tablets()) - min(self.tablets()) < 2

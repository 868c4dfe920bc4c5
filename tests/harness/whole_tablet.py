"""A table of one tablet, and a split of it: what several simulations of moves and late calls begin with."""

ROWS = range(100)
MIDDLE = b"row000050"


def whole_tablet(cluster, machine, servers):
    """Starts so many servers and writes ROWS into table t; its only tablet."""
    cluster.start(servers)
    cluster.client.admin.create_table(machine.schema())
    machine.write(cluster, ROWS)
    (tablet,) = cluster.client.admin.tablets(b"t")
    return tablet


def begun_split(cluster, tablet):
    """The task that splits the tablet at MIDDLE, in its server's process."""
    node, role = cluster.servers[tablet.owner]
    return node.runtime.spawn(role.admin.split, tablet.tablet_id, MIDDLE, name="split")

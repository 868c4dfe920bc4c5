"""Ports' adapters for tests and simulation, and fakes of foreign servers. Nothing that serves users imports them.

For programs of others: FaultyCluster, a cluster whose servers die and whose calls are lost
(docs/manual/programs.md). All else here is for hbtable's own tests, and may change with each version.
"""

from hbtable.testing.faulty_cluster import FaultyCluster

__all__ = ["FaultyCluster"]

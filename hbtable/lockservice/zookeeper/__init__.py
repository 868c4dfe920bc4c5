"""The lock service of a cluster: ZooKeeper, through kazoo (docs/faults.md: ZooKeeper)."""

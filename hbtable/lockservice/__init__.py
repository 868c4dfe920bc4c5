"""The lock service port (Chubby's place, paper section 4): sessions, locks, small versioned files.

interface.py states the promises, paths.py what is kept where. On one machine sessions live in the process
(sessions.py), with files in a folder (local.py, files.py; damaged.py sets those aside that can be made anew). On a
cluster they are ZooKeeper's:

    zookeeper/lock_service.py  the adapter: calls, deadlines
    zookeeper/wire.py          a session's opening and end, over a plain socket
    zookeeper/connection.py    kazoo's client, kept to that one session
    zookeeper/keeper.py        renews the lease (lease.py) from a thread of its own
    zookeeper/changes.py       what became of a change whose answer was lost
    zookeeper/watches.py       watches of whole folders
    zookeeper/nodes.py         how paths, files and locks look

Between, for several server processes of one machine: over_sockets, whose sessions are in other processes than the
service, which is the first kind.

On all of them, record_file.py keeps one record of the whole cluster in a file, for the grants and for the quotas.

One for tests and simulation, whose sessions can be cut off and end, is testing/memory_lockservice.py.
"""

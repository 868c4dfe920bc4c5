"""`hbtable start --servers N`: a cluster on one machine, in one data folder and behind one port.

    launcher.py          the process that was started: lock service, master, the port; it looks after the others
    server_child.py      a server process, as the launcher sees it: its start, its session, its death
    inheritance.py       the things that a server process gets from the launcher
    handed_connections.py   connections that the launcher hands to a server process
    server_process.py    the other side: a tablet server and a gateway

docs/decisions/0031-servers-of-one-folder.md says why nothing is lost.
"""

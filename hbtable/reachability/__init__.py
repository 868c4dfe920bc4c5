"""Observes who reaches whom, and ends a tablet server that nobody reaches while it keeps its lock (paper, section 9).

The master asks every tablet server, each tablet server some of the others and the master (observing.py). Who cannot be
reached is written down in the lock service, as locks that vanish with their writers (reports.py). A server ends itself
when the master and most of the servers that watch it say that they do not reach it. Its tablets go to others
(giving_up.py, by the rule of evidence.py and the limit of withdrawals.py). Why so: docs/decisions/0021.
"""

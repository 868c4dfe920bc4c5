"""Observes who reaches whom, and ends a tablet server that nobody reaches while it keeps its lock (paper, section 9).

The master asks every tablet server, each tablet server some of the others and the master (observing.py). Who cannot be
reached is written down in the lock service, as locks that vanish with their writers (reports.py). A server that is said
to be unreachable by the master and by most of those that watch it ends itself, and its tablets go to others
(giving_up.py, by the rule of evidence.py and the limit of withdrawals.py). Why so: docs/decisions/0021.
"""

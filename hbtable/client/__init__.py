"""The library linked into every client and gateway (paper, section 4): tables, scans, batches, administration.

client.py is the entry; table.py the calls on one table, with what is retried and what is not; rows.py the same for
people, with rows as dicts.
"""

"""One loaded tablet (paper, sections 5.3, 5.4 and 6): apply, read, scan, compact, split, recover.

Read in this order: layout, version (what a tablet is made of), spreading, state; writes/: clock, apply, row_locks,
gate, writing; reads/: sources, page, reading, reverse; compactions/policy, files, records, compactions/compaction;
recovery, splitting; tablet.
"""

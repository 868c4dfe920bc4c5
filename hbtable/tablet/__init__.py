"""One loaded tablet (paper, sections 5.3, 5.4 and 6): apply, read, scan, compact, split, recover.

Read in this order: layout, version (what a tablet is made of), spreading, state; clock, apply, row_turns, gate, writing
(a write's way); sources, page, reading, reverse (a read's); policy, files, records, compaction; recovery, splitting;
tablet.
"""

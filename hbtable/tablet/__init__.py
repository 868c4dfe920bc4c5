"""One loaded tablet (paper, sections 5.3, 5.4 and 6): apply, read, scan, compact, split, recover.

Read in this order: layout, version (what a tablet is made of), clock, apply, row_turns, writing (a write's way), reading,
reverse (a read's), policy, compaction (files), records (METADATA), recovery, splitting, tablet (the face of it all).
"""

"""The master (paper, sections 4 and 5.2): who serves which tablet, tables, and file garbage.

Pure planners (assignment, garbage) decide on a snapshot; liveness, tables, collector and master act. It holds no state
that METADATA and the lock service do not: a new master starts from them alone.
"""

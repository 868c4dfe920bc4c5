"""The master (paper, sections 4 and 5.2): who serves which tablet, tables, and file garbage.

servers/ says who lives, tablets/ who serves what, tables/ changes schemas, files/ collects garbage. Pure planners
(tablets/assignment, files/garbage) decide on a snapshot; servers/liveness, tables/tables, files/collector and master
act. It holds no state that METADATA and the lock service do not: a new master starts from them alone.
"""

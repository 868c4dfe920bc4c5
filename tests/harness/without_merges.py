"""Settings of databases that merge no files by themselves, for tests that compare two of them.

A compaction of all files of a locality group drops the delete markers, and so unmasks what is written afterwards with
an older time (docs/contract.md). A delete of a range leaves a file each time: two databases would merge theirs at two
times, and answer differently in between.
"""

from typing import Final

WITHOUT_MERGES: Final = {"tablet.merge_files": 100_000, "tablet.max_files": 100_000, "tablet.stall_files": 1_000_000}
"""For hbtable.open(config=...)."""

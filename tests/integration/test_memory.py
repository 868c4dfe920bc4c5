"""A slice of the memory campaign: limits as much smaller as the load; `make memory` loads 2 GB into the defaults."""

from pathlib import Path

import pytest

from tests.campaigns.memory import MB, Load
from tests.harness.tiers import long_test

LIMITS = (
    "tablet.memtable_bytes=4 MiB",
    "maintenance.total_memtable_bytes=8 MiB",
    "maintenance.log_bytes=16 MiB",
    "maintenance.split_bytes=16 MiB",
    "log.segment_bytes=4 MiB",
    "cache.block_cache_bytes=8 MiB",
    "log.durability=os",
)


@pytest.mark.integration
@long_test("a load far beyond all limits")
def test_a_load_far_larger_than_all_limits_stays_within_them(tmp_path: Path) -> None:
    load = Load(tmp_path, 60_000, LIMITS)
    load.run(loud=False)
    print(f"idle {load.idle_bytes // MB} MB, peak {load.peak_bytes // MB} MB, recovery {load.recovery_bytes // MB} MB")
    # 16 MiB of memtables until writers wait, 8 MiB of blocks, requests and answers of 1 MB, a compaction's pieces,
    # and what the allocator keeps of all that: of 60 MB loaded nothing stays.
    assert load.peak_bytes - load.idle_bytes < 60 * MB
    assert load.recovery_bytes < load.idle_bytes + 60 * MB

"""A whole log sorted by one process, part after part: what master.log_sorting spreads over servers."""

from hbtable.commitlog.recovery.log_ranges import plan_ranges
from hbtable.commitlog.recovery.manifest import Manifest
from hbtable.commitlog.recovery.reading import log_segments
from hbtable.commitlog.recovery.sorted_runs import list_path
from hbtable.commitlog.recovery.sorting import publish, sort_range
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime


def sort_log(
    runtime: Runtime, fs: FileSystem, folder: str, manifest: Manifest | None = None, part_bytes: int = 16 << 20
) -> None:
    """Nothing to do when it was sorted before. Corruption; Unavailable: the log is not fenced."""
    if fs.exists(list_path(folder)):
        return
    segments = log_segments(fs, folder, lambda: runtime.sleep(0), manifest, runtime=runtime)
    publish(fs, folder, [sort_range(runtime, fs, folder, part) for part in plan_ranges(segments, part_bytes)])

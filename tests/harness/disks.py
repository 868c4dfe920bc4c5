"""Disks of simulated machines, for tests that damage one."""

from hbtable.fs.memory_disk import MemoryContent, MemoryDisk


def disk_copy(disk: MemoryDisk) -> MemoryDisk:
    """As it is after everything on it was synced."""
    copy = MemoryDisk()
    for name, content in disk.files.items():
        copy.files[name] = MemoryContent(bytes(content.content), len(content.content), content.modified_millis)
    return copy

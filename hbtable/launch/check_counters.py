"""The part of `hbtable check` that looks whether numbers could be given out twice: ids of tables, tablets and scanners.

A counter is compared with what METADATA and the names of files show. So it must be read before a cluster is started on
the folder, which puts it right, and METADATA can only be read afterwards.
"""

import json
from typing import final

from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.launch.front_door import SCANNERS_FILE
from hbtable.lockservice.files import DurableFiles, MemoryFiles
from hbtable.lockservice.interface import LockService
from hbtable.lockservice.places import INCARNATIONS, SPLITS
from hbtable.lockservice.switches import Switch
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.counters import counter_damage
from hbtable.metadata.identifiers import SCANNER_IDS, TABLE_IDS, TABLET_IDS
from hbtable.metadata.numbers_in_use import NumbersInUse, in_file_names, in_metadata


@final
class CounterCheck:
    """Made before anything is started on the folder. *Switches.*"""

    def __init__(self, fs: FileSystem) -> None:
        self._counters = MemoryFiles()
        files = DurableFiles(fs)
        for path in (TABLE_IDS, TABLET_IDS, INCARNATIONS, SCANNER_IDS):
            try:
                file = files.load(path)
            except Corruption:
                continue  # who reads every file says so
            if file is not None:
                self._counters.put(path, file)
        self._in_files = in_file_names(fs).or_above(NumbersInUse(scanner=_saved_scanner(fs)))

    @staticmethod
    def keep_ids(lock_service: LockService) -> None:
        """Before a cluster is started for the check: it must not split tablets, whose new ids would look as if they
        had been there. *Switches.*"""
        session = lock_service.open_session("check")
        try:
            Switch(session, SPLITS).turn(False)
        finally:
            session.close()

    def damage(self, catalog: Catalog) -> list[str]:
        """A sentence for each counter that would give numbers out again. *Switches.*"""
        # The server that was started for the check is in METADATA as well, with a number above all.
        rows = in_metadata(catalog)._replace(started=0)
        return counter_damage(self._counters, rows.or_above(self._in_files))


def _saved_scanner(fs: FileSystem) -> int:
    """The highest id among scanners that wait for the next start; 0 when there are none, and -1 when there is no
    such file: then there may never have been a front door."""
    try:
        saved = json.loads(fs.read_file(SCANNERS_FILE))
        return max((int(one["id"]) for one in saved["scanners"]), default=0)
    except FileNotFound:
        return -1
    except (ValueError, KeyError, TypeError):
        return 0  # the start will say what is wrong with it

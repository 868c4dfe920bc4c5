"""METADATA as a cluster's servers have it, for a check of files that are in use.

What stands in files is older then: a change is in a log that its server still writes, where nobody else can read it.
"""

from typing import final

from hbtable.encoding import tablet_record
from hbtable.errors import Corruption, DataDamaged, HbtableError, LockLost, StaleLocation, UnsupportedFormat
from hbtable.metadata import layout
from hbtable.metadata.locator import Locator
from hbtable.metadata.metadata_calls import stored
from hbtable.metadata.tiling import standing
from hbtable.model.ranges import EVERY_ROW
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.repair.metadata_reading import MetadataView
from hbtable.switches import switches


@final
class ServedMetadata:
    """METADATA, read from the servers of a running cluster. `reached`: whether any of it could be read at the last
    look."""

    def __init__(self, locator: Locator) -> None:
        self._locator = locator
        self.reached = False

    @switches
    def read(self) -> MetadataView:
        """*Switches* between pages: not a snapshot. What cannot be read is a doubt, and nothing else is known then of
        the rest. UnsupportedFormat, LockLost."""
        view = MetadataView()
        damage: list[DataDamaged] = []
        self.reached = False
        try:
            view.tablets.append(self._locator.read_root())
            for row, cells in self._locator.calls.rows(EVERY_ROW, damage=damage):
                data = stored(cells)
                if data is not None:
                    view.rows[row] = data
                    view.history[row] = [data]
            self.reached = bool(view.rows) or not damage
        except (UnsupportedFormat, LockLost):
            raise
        except (HbtableError, StaleLocation) as error:
            view.doubts.append(f"METADATA cannot be read through the cluster's servers: {error}")
        view.doubts += [str(one) for one in damage]
        view.complete = not view.doubts
        view.tablets += standing(self._tablets_of_metadata(view))
        return view

    def _tablets_of_metadata(self, view: MetadataView) -> list[TabletRecord]:
        found = []
        for row, data in view.rows.items():
            if layout.tablet_rows(METADATA_TABLE_ID).holds(row):
                try:
                    record = tablet_record.decode_row(data, f"METADATA row {row!r}")
                except Corruption as error:
                    view.doubts.append(str(error))
                    continue
                if isinstance(record, TabletRecord):
                    found.append(record)
        return found

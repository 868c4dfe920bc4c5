"""Tablets that an operator withholds, or releases: nobody serves them, and everything else is served.

The mark is a field of the tablet's record in METADATA. Its files and logs stay named there, so that nobody collects
them, and a repair mends nothing of them: what they hold is as it was found when the tablet is released. A release takes
the mark away first, so that the same repair mends the tablet.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from hbtable.encoding import tablet_record
from hbtable.errors import InvalidRequest
from hbtable.metadata import layout
from hbtable.metadata.tiling import standing
from hbtable.model.tablet import TabletRecord
from hbtable.repair.metadata_reading import MetadataView
from hbtable.repair.report import Report, shown_table
from hbtable.switches import switches
from hbtable.tablet.withheld import since


class WithholdingOrders(NamedTuple):
    """Ids of tablets."""

    withhold: Collection[int] = ()
    release: Collection[int] = ()


NO_ORDERS: Final = WithholdingOrders()


@switches
def mark(view: MetadataView, orders: WithholdingOrders, now_millis: int, report: Report) -> bool:
    """Changes rows of `view`; whether any. InvalidRequest, before anything is changed: a tablet that METADATA does not
    name, or that cannot be marked, or is so already."""
    both = set(orders.withhold) & set(orders.release)
    if both:
        raise InvalidRequest(f"tablet {min(both)} cannot be withheld and released at once: say one of the two")
    _divide(view, {*orders.withhold, *orders.release})
    records = {record.tablet_id: record for record in _user_tablets(view)}
    chosen = {
        tablet_id: replace(_to_withhold(records, tablet_id), withheld_millis=now_millis)
        for tablet_id in orders.withhold
    }
    chosen |= {tablet_id: replace(_to_release(records, tablet_id), withheld_millis=0) for tablet_id in orders.release}
    names = {record.table_id: name for name, record in view.tables().items()}
    for tablet_id, record in chosen.items():
        view.rows[layout.key_of(record)] = tablet_record.encode(replace(record, generation=record.generation + 1))
        done = "is withheld: nobody serves its rows" if record.withheld_millis else "is released: it is served again"
        report.done.append(f"tablet {tablet_id} of {shown_table(names.get(record.table_id), record.table_id)} {done}")
    return bool(chosen)


@switches
def tell_of_withheld(view: MetadataView, orders: WithholdingOrders, report: Report) -> None:
    """Reports the tablets that an earlier repair was told to withhold."""
    for record in _user_tablets(view):
        if record.withheld_millis and record.tablet_id not in orders.withhold:
            report.notes.append(
                f"tablet {record.tablet_id} {since(record)}, and stays so, with its files as they are, until `hbtable "
                f"repair --release {record.tablet_id}`"
            )


@switches
def _user_tablets(view: MetadataView) -> Iterator[TabletRecord]:
    yield from standing(record for _, record in view.tablet_rows() if isinstance(record, TabletRecord))


@switches
def _divide(view: MetadataView, tablet_ids: Collection[int]) -> None:
    """A split that is being completed gives each of the two a row of its own: one mark is one tablet's."""
    for key, record in list(view.tablet_rows()):
        if isinstance(record, TabletRecord) and record.left is not None:
            left = record.left
            if {left.tablet_id, record.tablet_id} & set(tablet_ids):
                view.rows.setdefault(layout.key_of(left), tablet_record.encode(left))
                view.rows[key] = tablet_record.encode(replace(record, left=None))


def _to_withhold(records: dict[int, TabletRecord], tablet_id: int) -> TabletRecord:
    record = _known(records, tablet_id)
    if record.withheld_millis:
        raise InvalidRequest(f"tablet {tablet_id} is withheld already: it {since(record)}; nothing was changed")
    if record.is_merging():
        raise InvalidRequest(
            f"tablet {tablet_id} is being merged with its neighbour: start the server, which finishes that, or "
            "withhold both of them then; nothing was changed"
        )
    return record


def _to_release(records: dict[int, TabletRecord], tablet_id: int) -> TabletRecord:
    record = _known(records, tablet_id)
    if not record.withheld_millis:
        raise InvalidRequest(f"tablet {tablet_id} is not withheld, so it cannot be released; nothing was changed")
    return record


def _known(records: dict[int, TabletRecord], tablet_id: int) -> TabletRecord:
    if tablet_id not in records:
        raise InvalidRequest(
            f"METADATA names no tablet {tablet_id} of a table: `hbtable check`, /readyz and the errors of damaged rows "
            "name tablets by their numbers; nothing was changed"
        )
    return records[tablet_id]

"""A table as a client finds it: by the location cache, and by METADATA where that proves wrong (paper, section 5.1)."""

from collections.abc import Callable, Sequence
from functools import partial

from hbtable.client import scanning
from hbtable.client.options import ClientOptions
from hbtable.client.suspects import Suspects
from hbtable.client.whole_rows import families_of
from hbtable.errors import (
    LockLost,
    NoSuchFamily,
    OutcomeUnknown,
    OutOfSpace,
    Overloaded,
    StaleLocation,
    TableNotEnabled,
    TableNotFound,
    Throttled,
    Unavailable,
)
from hbtable.filters.grammar import parse
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.metadata.retry_policy import RetryCounter
from hbtable.model.mutation import RowMutation
from hbtable.model.names import shown
from hbtable.model.read import ReadSpec
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


class LocatedTable:
    """A table by its name: its id in METADATA, its tablets, its record, and what is done after a failure."""

    __slots__ = (
        "_catalog", "_id", "_locator", "_options", "_over", "_runtime", "_service", "_suspects", "find", "name",
    )  # fmt: skip

    def __init__(
        self,
        name: bytes,
        runtime: Runtime,
        transport: Transport,
        locator: Locator,
        catalog: Catalog,
        over: Callable[[], bool],
        options: ClientOptions,
        suspects: Suspects,
    ) -> None:
        """`name` is canonical. `over`: has this process's own session ended?"""
        self.name = name
        self.find = locator.find
        self._service = transport.tablet_service
        self._runtime = runtime
        self._locator = locator
        self._catalog = catalog
        self._over = over
        self._options = options
        self._suspects = suspects
        self._id = 0  # 0, METADATA's own, is that of no table a client can name: not looked up yet

    def cached_tablet(self, row: bytes) -> TabletRecord | None:
        """The tablet of the row, perhaps out of date; None: it would have to be looked for. Does not switch."""
        return self._locator.cached(self._id, row) if self._id else None

    def forget_tablet(self, row: bytes) -> None:
        """The next call asks METADATA for the tablet of the row, because the cached one proved wrong. Does not
        switch."""
        self._locator.forget(self._id, row)

    # ---------------------------------------------------------------- the table's record

    @switches
    def described(self) -> TableRecord:
        """As record(): nothing is hidden here."""
        return self.record()

    @switches
    def record(self) -> TableRecord:
        """The table's record as METADATA has it now, never from a cache: a delete of whole rows must know every family.
        TableNotFound; a disabled table has a record, too. METADATA is waited for as long as any tablet is: a dead
        server may have had it, and its session alone may last longer than the catalog tries."""
        retries: RetryCounter | None = None
        while True:
            try:
                return self._record()
            except OutOfSpace:
                raise
            except (StaleLocation, Unavailable) as error:
                retries = retries or RetryCounter(self._runtime, self._options.retry_policy)
                if not retries.wait():
                    said = retries.exhausted(f"the record of table {self.shown_name()} could not be read", error)
                    raise Unavailable(said) from error

    @switches
    def _record(self) -> TableRecord:
        record = self._catalog.read_table(self.name)
        if record is None or record.state in (TableState.CREATING, TableState.DELETING):
            self.invalidate()
            raise TableNotFound(self.shown_name())
        return record

    @switches
    def _check_as_tablets_do(self, spec: ReadSpec) -> None:
        """A scan that asks no tablet: TableNotFound, TableNotEnabled, NoSuchFamily and BadFilter all the same."""
        record = self.record()
        self._refuse_disabled(record)
        scanning.check_columns(spec.columns, record.schema.families, self.shown_name())
        if spec.filter is not None:
            parse(spec.filter, partial(self._runtime.sleep, 0))

    def _refuse_disabled(self, record: TableRecord) -> None:
        if record.state in (TableState.DISABLED, TableState.DISABLING):
            self.invalidate()
            raise TableNotEnabled(f"{self.shown_name()} is disabled.")

    def invalidate(self) -> None:
        """Nothing known about the table is used any more."""
        table_id, self._id = self._id, 0
        if table_id:
            self._locator.forget_table(table_id)

    def shown_name(self) -> str:
        return shown(self.name)

    @switches
    def _open(self) -> int:
        """Its id, read from METADATA. TableNotFound, TableNotEnabled; StaleLocation while it is being enabled."""
        record = self._record()
        self._refuse_disabled(record)
        if record.state is TableState.ENABLING:
            raise StaleLocation(f"table {self.shown_name()} is being enabled")
        if self._id and self._id != record.table_id:
            self.invalidate()
        self._id = record.table_id
        return record.table_id

    @switches
    def _once_known(
        self, error: NoSuchFamily, retries: RetryCounter | None, changes: Sequence[RowMutation], *others: bytes
    ) -> RetryCounter:
        """A tablet refused one of their families, or of `others`: pauses where METADATA has all of them, because the
        tablet is told of a new one next. Otherwise `error` ends the call."""
        named = families_of(changes, partial(self._runtime.sleep, 0)).union(others)
        retries = retries or RetryCounter(self._runtime, self._options.retry_policy)
        if named <= self.record().schema.families.keys() and retries.wait():
            return retries
        raise error

    @switches
    def _again(
        self,
        error: StaleLocation | Unavailable | LockLost,
        retries: RetryCounter | None,
        row: bytes,
        write: bool,
        before: bool = False,
    ) -> RetryCounter:
        """After a failure: forgets what proved wrong and pauses. Raises when the call must end here."""
        if isinstance(error, (OutOfSpace, Overloaded, Throttled)):
            raise error
        if self._id:
            if before:
                self._locator.forget_before(self._id, row)
            else:
                self._locator.forget(self._id, row)
        if isinstance(error, LockLost):
            if self._over():
                raise error  # it is our own
            if write:
                raise OutcomeUnknown(f"the tablet server stopped while it wrote row {row!r}: {error}") from error
        try:
            self._open()
        except (StaleLocation, Unavailable):
            self._id = 0  # to be read again at the next try
        if retries is None:
            retries = RetryCounter(self._runtime, self._options.retry_policy)
        if not retries.wait():
            raise Unavailable(
                retries.exhausted(f"table {self.shown_name()} gave no answer for row {row!r}", error)
            ) from error
        return retries

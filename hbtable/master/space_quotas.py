"""Measures tables that have limits of space, and says which are over them; tablet servers hear of it as of any other
change of the quotas (quotas.quotas_file), and refuse writes.

With the policy DISABLE the master disables such a table, and remembers that it did: so it enables the table again when
the limit is set anew or taken away, or kept again, as when another table of the namespace was truncated, and no table
that somebody else disabled, or asked to disable since. Bytes are those of SSTables, as METADATA lists them: a table has
its size also while nobody serves it, and while a server does not answer. A file that two tablets share after a split
counts once.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol, final

from hbtable.errors import (
    Corruption,
    DataDamaged,
    NotFound,
    SwitchedOff,
    TableNotDisabled,
    TableNotEnabled,
    UnsupportedFormat,
)
from hbtable.lockservice.interface import Session
from hbtable.master.background_work import BackgroundWork
from hbtable.metadata.catalog import Catalog
from hbtable.model import names
from hbtable.model.names import shown
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.quotas.quotas_file import quotas_file
from hbtable.quotas.settings import Quotas, SpacePolicy
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches

log = logging.getLogger(__name__)

_PERIOD_SECONDS: Final = 5.0
_AT_ONCE: Final = 8
"""Tables that are disabled or enabled. More: more at once for servers; fewer: more tables wait for one that hangs."""


class _Tables(Protocol):
    @switches
    def enable_table(self, name: bytes, begins: Callable[[], None]) -> None: ...
    @switches
    def disable_table(self, name: bytes, begins: Callable[[TableState], None]) -> None: ...


@final
class SpaceQuotas(BackgroundWork):
    """begin_if_due() in the master's cycle, then stop()."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        catalog: Catalog,
        tables: _Tables,
        check_acting: Callable[[], None],
        soon: Callable[[], None],
    ) -> None:
        """`check_acting` raises while this is not the master. `soon` asks for begin_if_due(), and does not switch."""
        failure = "space quotas: the tables could not be measured, and will be later"
        super().__init__(runtime, "space quotas", failure)
        self._catalog = catalog
        self._tables = tables
        self._check_acting = check_acting
        self._soon = soon
        self._file = quotas_file(session)
        self._due = runtime.clock_seconds()

    def begin_if_due(self) -> None:
        """Begins a measurement that is due. Called in the master's cycle, when everything is served. Does not
        switch."""
        now = self._runtime.clock_seconds()
        if self._may_begin() and now >= self._due:
            self._due = now + _PERIOD_SECONDS
            self._begin(self._look)

    def look_soon(self) -> None:
        """A limit was changed. Does not switch."""
        self._due = self._runtime.clock_seconds()
        self._soon()

    @switches
    def another_disables(self, name: bytes, _state: TableState) -> None:
        """Somebody else is about to disable the table, or goes on with that, or asks for it when it is disabled
        already: so he enables it again. A file of quotas that cannot be understood stops nobody."""
        try:
            if name in self._file.read().disabled:
                self._file.change(lambda known: known.with_disabled(name, False))
        except (Corruption, UnsupportedFormat) as error:
            log.warning("quotas on %s could not be changed: %s", shown(name), error)

    @switches
    def _look(self) -> None:
        self._check_acting()
        quotas = self._file.read()
        if not quotas.space and not quotas.disabled:
            return
        damage: list[DataDamaged] = []
        tables = self._catalog.tables(damage)
        if quotas.space:
            limited = [one for one in tables if quotas.space_limit(one.schema.name) is not None]
            sizes, unknown = self._known_sizes(limited)
            in_doubt = None if damage else unknown
            self._file.change(lambda known: known.measured(sizes, in_doubt))
            quotas = self._file.read()

        def job(table: TableRecord) -> Callable[[], None]:
            return lambda: self._act(quotas, table)

        outcomes = run_all(self._runtime, _AT_ONCE, [job(table) for table in tables], "act on a limit of space")
        for table, outcome in zip(tables, outcomes, strict=True):
            if outcome is not None:
                log.info("table %s has not what its limit of space asks for: %s", shown(table.schema.name), outcome)

    @switches
    def _act(self, quotas: Quotas, table: TableRecord) -> None:
        """Disables the table, or enables it again, if there is reason to; whether there still is, is seen when its
        turn has come."""
        name = table.schema.name
        if _is_to_be_off(quotas, name):
            if table.state is TableState.ENABLED:
                try:
                    self._tables.disable_table(name, partial(self._begin_to_disable, name))
                except (NotFound, TableNotEnabled, SwitchedOff) as error:
                    log.info("table %s is not disabled for its limit of space: %s", shown(name), error)
        elif name in quotas.disabled and table.state is not TableState.DISABLING:  # that comes first
            try:
                self._tables.enable_table(name, partial(self._begin_to_enable, name))
            except SwitchedOff as error:
                log.info("table %s is not enabled again: %s", shown(name), error)
                return
            except (NotFound, TableNotDisabled) as error:
                log.info("table %s is not enabled again: %s", shown(name), error)
            self._file.change(lambda known: known.with_disabled(name, False))

    @switches
    def _begin_to_disable(self, name: bytes, state: TableState) -> None:
        """Nobody else can disable the table meanwhile. SwitchedOff: its limit was changed."""
        if not _is_to_be_off(self._file.read(), name):
            raise SwitchedOff("its limit was changed meanwhile")
        if state is TableState.ENABLED:  # else somebody else has begun to, and enables it again
            log.warning("table %s is disabled: it holds more than its limit of space", shown(name))
            self._file.change(lambda known: known.with_disabled(name, True))

    @switches
    def _begin_to_enable(self, name: bytes) -> None:
        """Nobody else can disable the table meanwhile. SwitchedOff: somebody else did before, or its limit was
        changed."""
        quotas = self._file.read()
        if name not in quotas.disabled:
            raise SwitchedOff("somebody else disabled it meanwhile")
        if _is_to_be_off(quotas, name):
            raise SwitchedOff("its limit was changed meanwhile")

    @switches
    def _known_sizes(self, tables: Iterable[TableRecord]) -> tuple[dict[bytes, int], set[bytes]]:
        """As _sizes(); and the tables of which METADATA cannot tell all."""
        sizes: dict[bytes, int] = {}
        unknown: set[bytes] = set()
        for table in tables:
            name, damage = table.schema.name, list[DataDamaged]()
            if not names.is_system(name):
                sizes[name] = _bytes(self._catalog.tablet_rows(table.table_id, damage))
                if damage:
                    unknown.add(name)
        return sizes, unknown

    @switches
    def _sizes(self, tables: Iterable[TableRecord]) -> dict[bytes, int]:
        """Bytes by table. Those of users alone."""
        users = [one for one in tables if not names.is_system(one.schema.name)]
        return {one.schema.name: _bytes(self._catalog.tablet_rows(one.table_id)) for one in users}

    @switches
    def usage(self) -> list[dict[str, str]]:
        """Each table of users with its bytes now, and its limit if it has one, ascending by name."""
        quotas = self._file.read()
        sizes = self._sizes(self._catalog.tables())
        return [_shown(quotas, name, sizes) for name in sorted(sizes)]


def _is_to_be_off(quotas: Quotas, name: bytes) -> bool:
    limit = quotas.space_limit(name)
    return limit is not None and limit.violated and limit.policy is SpacePolicy.DISABLE


def _bytes(tablets: Iterable[TabletRecord]) -> int:
    """The bytes of their files, each once."""
    files: dict[str, int] = {}
    for record in tablets:
        for tablet in (record, record.left):
            for _, references in () if tablet is None else tablet.files:
                files.update((one.path, one.length_bytes) for one in references)
    return sum(files.values())


def _shown(quotas: Quotas, name: bytes, sizes: dict[bytes, int]) -> dict[str, str]:
    found = {"table": shown(name), "bytes": str(sizes[name])}
    limit = quotas.space_limit(name)
    if limit is None:
        return found
    words = {"limit": str(limit.limit), "policy": limit.policy.name, "violated": str(limit.violated).lower()}
    return found | words

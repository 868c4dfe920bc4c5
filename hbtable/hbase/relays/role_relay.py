"""The asking side: a gateway of a cluster has calls about rows of other tablet servers carried out there, as they came.

A call between roles of its own (client.table) would be made of the decoded call, and the client's answer of the decoded
answer: that took as long as to carry the call out. Here the server of the row makes the answer itself
(relays.relayed_calls), and only table and row are looked at.

Which calls: those of PASSED_ON_READS and PASSED_ON_WRITES, of Thrift1's strict binary protocol and one row, small, and
not while users are asked who they are. All others, those about rows of this server, and those that were refused are
done as ever, by the client library, so that what is wrong with a call is told by one place. A write is done again only
after an error which says that nothing was done; and nothing is that would fail or cost the same.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol, final

from hbtable.errors import (
    Corruption,
    CostExceeded,
    HbtableError,
    InvalidRequest,
    LockLost,
    NotFound,
    OutcomeUnknown,
    StaleLocation,
    Unavailable,
    UnknownCall,
    UnsupportedFormat,
)
from hbtable.hbase.cell_methods import PASSED_ON_READS, PASSED_ON_WRITES
from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.hbase.relays.relay import Located, Message, are_puts, located
from hbtable.hbase.unknown_puts import of_puts
from hbtable.metrics.registry import Registry
from hbtable.model.tablet import TabletRecord
from hbtable.rpc.services import RelayService
from hbtable.switches import switches

_OLDER: Final = 1000
"""Servers of older releases that are remembered. A server that is upgraded comes back under another name."""


class AskedTable(Located, Protocol):
    """A table as this relay asks it (client.table.Table)."""

    @switches
    def ask_owner(
        self, row: bytes, found: TabletRecord, ask: Callable[[TabletRecord], bytes], write: bool
    ) -> bytes: ...


@final
class RoleRelay:
    """Passes calls on. `mine`: the tablet server beside this gateway; "": there is none. `table`: by its name in any
    spelling; HbtableError for one that no table can have. `relays`: of a tablet server; StaleLocation."""

    def __init__(
        self,
        mine: str,
        table: Callable[[bytes], AskedTable],
        relays: Callable[[str], RelayService],
        registry: Registry,
    ) -> None:
        self._mine = mine
        self._table = table
        self._relays = relays
        self._older: set[str] = set()
        self.count = registry.counter("hbtable_relayed_calls_total", "Calls that the gateway of another process did.")

    @switches
    def ask(self, method: ThriftMethod, values: Sequence[Any], source: Message) -> bytes | None:
        """The answer that the server of the row made; None: the call is to be done here, and nothing was done yet.
        *Switches.* OutcomeUnknown; StaleLocation and Unavailable after as many tries as ever; LockLost: of this role's
        own session; Corruption, UnsupportedFormat, CostExceeded; and for writes each error that does not say that
        nothing was done."""
        write = method.name in PASSED_ON_WRITES
        if not write and method.name not in PASSED_ON_READS:
            return None
        found = located(self._table, *values[:2])
        if found is None:
            return None
        table, row, record = found
        if record.owner == self._mine or not record.owner or record.owner in self._older:
            return None
        message = source.whole()
        if message is None:
            return None
        try:
            answer = table.ask_owner(row, record, partial(self._asked, message, write), write)
        except OutcomeUnknown as error:
            if write and are_puts(values[2]):
                raise of_puts(error) from error
            raise
        except (StaleLocation, Unavailable, LockLost):
            raise  # a write that goes out when this role's session is over may have been done: not once more
        except UnknownCall:
            return None
        except (Corruption, UnsupportedFormat, CostExceeded):
            raise
        except HbtableError as error:
            if write and not isinstance(error, (InvalidRequest, NotFound)):
                raise
            return None
        self.count.value += 1
        return answer

    @switches
    def _asked(self, message: bytes, write: bool, record: TabletRecord) -> bytes:
        relays = self._relays(record.owner)
        try:
            return (relays.relay_write if write else relays.relay_read)(record.tablet_id, message)
        except UnknownCall:
            if len(self._older) < _OLDER:
                self._older.add(record.owner)
            raise

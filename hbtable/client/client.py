"""A client of one cluster: tables by name, and administration. One per process is enough; it is shared by all tasks."""

from collections.abc import Callable
from typing import final

from hbtable.client.admin import Admin
from hbtable.client.cluster_admin import ClusterAdmin
from hbtable.client.options import MAX_CACHED_TABLES, ClientOptions
from hbtable.client.rows import Rows
from hbtable.client.suspects import Suspects
from hbtable.client.table import Table
from hbtable.lockservice.interface import Session
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.model.names import parse
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@final
class Client:
    """One client of one cluster. `session` is only read: the root's location comes from it. `locator`, `suspects`: the
    process's, when it has them already."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        transport: Transport,
        options: ClientOptions | None = None,
        locator: Locator | None = None,
        suspects: Suspects | None = None,
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        self._options = options or ClientOptions()
        self._over: Callable[[], bool] = session.over
        self.locator = locator or Locator(session, transport, runtime)
        self.catalog = Catalog(session, self.locator)
        self._suspects = suspects or Suspects(runtime, session)
        self._tables: dict[bytes, Table] = {}
        self.admin = Admin(runtime, transport, self.locator, self.catalog, self.table, self._over, self._options)
        self.operations = ClusterAdmin(runtime, transport, self.catalog, self._options.parallel_calls)

    def table(self, name: bytes) -> Table:
        """The table of this name, which need not exist yet; the same object for every spelling. Reads nothing.
        InvalidRequest for a name that no table can have."""
        table = self._tables.get(name)
        if table is None:
            canonical = parse(name)
            table = self._tables.get(canonical)
            if table is None:
                table = Table(
                    canonical,
                    self._runtime,
                    self._transport,
                    self.locator,
                    self.catalog,
                    self._over,
                    self._options,
                    self._suspects,
                )
            if len(self._tables) >= MAX_CACHED_TABLES:
                self._tables.clear()
            self._tables[name] = self._tables[canonical] = table
        return table

    def rows(self, name: bytes) -> Rows:
        """The same table with rows as dicts."""
        return Rows(self.table(name))

    @switches
    def names(self) -> list[bytes]:
        """User tables of all namespaces, ascending, disabled ones included."""
        return self.admin.table_names()

"""The master's service (rpc.services.MasterService): hands each call to the part that carries it out.

A process that is not the master, or not any more, begins nothing and answers Unavailable: its caller may ask the
present master. When a call fails, the master's cycle finishes at once what it may have left half done.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import final

from hbtable.access.user import check_name
from hbtable.errors import SwitchedOff
from hbtable.lockservice.toggles import Toggle
from hbtable.master.space_quotas import SpaceQuotas
from hbtable.master.tables.tables import TableOperations
from hbtable.master.tablets.normalizer import Normalizer
from hbtable.model.schema import TableSchema
from hbtable.model.status import Collection
from hbtable.quotas.settings import Subject
from hbtable.rpc.services import MasterService
from hbtable.switches import switches


@final
class MasterCalls(MasterService):
    """Hands each call of rpc.services.MasterService to the part that carries it out. `check_master` raises Unavailable
    when this is not the master; `collect` is one garbage collection; `request_cycle` makes the cycle look at every
    tablet at once; `merges`: whether tablets may be merged; `task_deaths` is Deaths.ever."""

    def __init__(
        self,
        tables: TableOperations,
        check_master: Callable[[], None],
        collect: Callable[[], Collection],
        request_cycle: Callable[[], None],
        merges: Toggle,
        normalizer: Normalizer,
        space: SpaceQuotas,
        task_deaths: Callable[[], list[str]],
    ) -> None:
        self._tables = tables
        self._check_master = check_master
        self._collect = collect
        self._request_cycle = request_cycle
        self._merges = merges
        self._normalizer = normalizer
        self._space = space
        self._task_deaths = task_deaths

    # ---------------------------------------------------------------- tables and namespaces

    @switches
    def create_table(self, schema: TableSchema, split_rows: Sequence[bytes] = (), creator: str = "") -> None:
        if creator != "":
            check_name(creator)
        self._tables.create_table(schema, split_rows, creator)

    @switches
    def delete_table(self, name: bytes) -> None:
        self._tables.delete_table(name)

    @switches
    def enable_table(self, name: bytes) -> None:
        self._tables.enable_table(name)

    @switches
    def disable_table(self, name: bytes) -> None:
        self._tables.disable_table(name, partial(self._space.another_disables, name))

    @switches
    def alter_table(self, schema: TableSchema) -> None:
        self._tables.alter_table(schema)

    @switches
    def truncate_table(self, name: bytes, keep_splits: bool) -> None:
        self._tables.truncate_table(name, keep_splits)

    @switches
    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> None:
        self._tables.namespaces.create(name, properties)

    @switches
    def alter_namespace(self, name: bytes, properties: Mapping[str, str]) -> None:
        self._tables.namespaces.alter(name, properties)

    @switches
    def delete_namespace(self, name: bytes) -> None:
        self._tables.namespaces.delete(name)

    # ---------------------------------------------------------------- tablets

    @switches
    def move_tablet(self, name: bytes, tablet_id: int, server: str = "") -> None:
        self._check_master()
        with self._tables.followed_up():
            self._tables.moves.move(name, tablet_id, server)

    @switches
    def merge_tablets(self, name: bytes, tablet_ids: Sequence[int]) -> None:
        self._check_master()
        if not self._merges.is_on():
            raise SwitchedOff("nothing was merged: merges are switched off (splitormerge_switch 'MERGE', true)")
        with self._tables.followed_up():
            self._tables.merges.merge(name, tablet_ids)

    @switches
    def balance(self) -> bool:
        self._check_master()
        with self._tables.followed_up():
            return self._tables.balancer.run()

    @switches
    def balance_switch(self, on: bool) -> bool:
        self._check_master()
        before = self._tables.balancer.toggle.turn(on)
        self._request_cycle()
        return before

    @switches
    def balancer_enabled(self) -> bool:
        self._check_master()
        return self._tables.balancer.toggle.is_on()

    @switches
    def normalize(self, tables: Sequence[bytes]) -> bool:
        self._check_master()
        return self._normalizer.ask(tables)

    @switches
    def normalizer_switch(self, on: bool) -> bool:
        self._check_master()
        return self._normalizer.toggle.turn(on)

    @switches
    def normalizer_enabled(self) -> bool:
        self._check_master()
        return self._normalizer.toggle.is_on()

    @switches
    def decommission(self, servers: Sequence[str], offload: bool) -> None:
        self._check_master()
        self._tables.decommissions.mark(servers, offload)
        self._request_cycle()

    @switches
    def recommission(self, server: str) -> None:
        self._check_master()
        self._tables.decommissions.unmark(server)
        self._request_cycle()

    # ---------------------------------------------------------------- quotas

    @switches
    def set_throttle(
        self,
        user: str = "",
        namespace_name: bytes = b"",
        table: bytes = b"",
        every_server: bool = False,
        throttle_type: str = "",
        limit: int = 0,
        seconds: int = 1,
        cluster: bool = False,
    ) -> None:
        self._check_master()
        subject = Subject(user, namespace_name, table)
        self._tables.quotas.set_throttle(subject, every_server, throttle_type, limit, seconds, cluster)

    @switches
    def set_space_limit(
        self, namespace_name: bytes = b"", table: bytes = b"", limit: int = 0, policy: str = ""
    ) -> None:
        self._check_master()
        self._tables.quotas.set_space_limit(namespace_name, table, limit, policy)
        self._space.look_soon()

    @switches
    def space_usage(self) -> list[Mapping[str, str]]:
        self._check_master()
        return list(self._space.usage())

    @switches
    def set_quota_exemption(self, user: str, exempt: bool) -> None:
        self._check_master()
        self._tables.quotas.set_exemption(user, exempt)

    @switches
    def set_throttling(self, on: bool) -> bool:
        self._check_master()
        return self._tables.quotas.set_throttling(on)

    @switches
    def throttling_enabled(self) -> bool:
        self._check_master()
        return self._tables.quotas.throttling()

    @switches
    def quotas(self) -> list[Mapping[str, str]]:
        self._check_master()
        return list(self._tables.quotas.listed())

    # ---------------------------------------------------------------- chores

    @switches
    def collect_garbage(self) -> Collection:
        self._check_master()
        return self._collect()

    def look_at_everything(self) -> None:
        self._check_master()
        self._request_cycle()

    def balancer_rests(self) -> str:
        self._check_master()
        return self._tables.balancer.rests

    def master_task_deaths(self) -> list[str]:
        return self._task_deaths()

    def ping_master(self) -> None:
        """Answers also when this is not the master any more: it can be reached."""

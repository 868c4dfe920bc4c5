"""Rights end with what they are held on, whoever grants meanwhile and through whichever gateway: no right to a table,
a family or a namespace comes through to the next one of its name. Each seed is another order of what the tasks do."""

import random
from collections.abc import Callable
from typing import Any, cast, final

import pytest

from hbtable.access.actions import EVERY_ACTION, Action
from hbtable.access.grants import Grant
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.access.user import User, acting_as
from hbtable.errors import AccessDenied, HbtableError, NamespaceNotFound, NoSuchFamily, TableNotFound
from hbtable.hbase.admin.structs import AdminTable
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.permissions.methods import ADMIN
from hbtable.lockservice.interface import Session
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.switches import switches
from tests.harness.guarded_gateway import GuardedGateway, interface
from tests.harness.tiers import quick_first

SEEDS = quick_first(range(16), 3, 3)
ROOT, ANN, EVE = User("root"), User("ann"), User("eve")
NAMESPACE, TABLE, FAMILY = Scope(b"ns"), of_table(b"ns:d"), of_table(b"ns:d", b"f")


@final
class Faraway:
    """A session of a gateway to which the lock service is far: calls take time, on the way there and back, and no hint
    of a change arrives."""

    def __init__(self, session: Session, wait: Callable[[], None]) -> None:
        self._session = session
        self._wait = wait

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._session, name)

        @switches
        def slow(*arguments: Any) -> Any:
            self._wait()
            try:
                return call(*arguments)
            finally:
                self._wait()

        return slow

    def watch(self, folder: str, changed: Callable[[], None]) -> None: ...


class Place:
    """A cluster with two gateways, a namespace and a table in it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(f"grants {seed}")
        self.gateway = GuardedGateway(seed)
        self.runtime = self.gateway.runtime
        self.over = False

    def run(self, body: Callable[[], None]) -> None:
        def main() -> None:
            self.gateway.start()
            self.second = self.gateway.another_guard(cast(Session, Faraway(self.gateway.cluster.session, self.wait)))
            self.second.start()
            self.admin = self.gateway.cluster.client.admin
            self.admin.create_namespace(b"ns", {})
            try:
                body()
            finally:
                self.second.stop()
                self.gateway.stop()

        self.runtime.run(main)

    @switches
    def wait(self) -> None:
        self.runtime.sleep(self.chance.choice((0.0, 0.001, 0.05)) * self.chance.random())

    def create(self, *families: bytes) -> None:
        self.admin.create_table(TableSchema(b"ns:d", {name: FamilySchema(name) for name in families or (b"f",)}))

    def drop(self) -> None:
        self.admin.disable_table(b"ns:d")
        self.admin.delete_table(b"ns:d")

    def grant(self, holder: str, scope: Scope, action: int = Action.ADMIN) -> None:
        with acting_as(ROOT):
            self.gateway.guard.grant(holder, scope, action)

    def granting(self, guard: Guard, scope: Scope) -> None:
        """Eve grants herself everything there, again and again."""
        with acting_as(EVE):
            while not self.over:
                try:
                    guard.grant("eve", scope, EVERY_ACTION)
                except (AccessDenied, NamespaceNotFound, NoSuchFamily, TableNotFound):
                    pass
                self.runtime.sleep(self.chance.random() / 50)

    def while_eve_grants(self, scope: Scope, change: Callable[[], None]) -> list[Grant]:
        """What the superuser sees below the scope when both are done."""
        guards = (self.gateway.guard, self.second)
        tasks = [self.runtime.spawn(self.granting, guard, scope, name="eve") for guard in guards * 2]
        self.runtime.sleep(self.chance.random())
        change()
        self.runtime.sleep(self.chance.random())
        self.over = True
        assert all(task.join(600.0) and task.error is None for task in tasks)
        self.runtime.sleep(1.0)
        with acting_as(ROOT):
            return self.second.grants_at(scope)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("held", [TABLE, FAMILY], ids=str)
def test_rights_to_a_table_do_not_come_through_to_the_next_one(seed: int, held: Scope) -> None:
    place = Place(seed)

    def anew() -> None:
        place.drop()
        place.runtime.sleep(place.chance.choice((0.0, 0.01, 0.7)))
        place.create()

    def body() -> None:
        place.create()
        place.grant("eve", held)
        assert place.while_eve_grants(held, anew) == []

    place.run(body)


@pytest.mark.parametrize("seed", SEEDS)
def test_rights_to_a_family_do_not_come_through_to_the_next_one(seed: int) -> None:
    place = Place(seed)

    def altered(*families: bytes) -> None:
        schema = place.admin.schema(b"ns:d")
        of_names = {name: schema.families.get(name, FamilySchema(name)) for name in families}
        place.admin.alter_table(
            TableSchema(b"ns:d", of_names, version=schema.version + 1, attributes=schema.attributes)
        )

    def anew() -> None:
        altered(b"g")
        altered(b"g", b"f")

    def body() -> None:
        place.create(b"f", b"g")
        place.grant("eve", FAMILY)
        assert place.while_eve_grants(FAMILY, anew) == []

    place.run(body)


@pytest.mark.parametrize("seed", SEEDS)
def test_rights_to_a_namespace_do_not_come_through_to_the_next_one(seed: int) -> None:
    place = Place(seed)

    def anew() -> None:
        place.admin.delete_namespace(b"ns")
        place.admin.create_namespace(b"ns", {})

    def body() -> None:
        place.grant("eve", NAMESPACE)
        assert place.while_eve_grants(NAMESPACE, anew) == []

    place.run(body)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wider", [GLOBAL, NAMESPACE], ids=str)
def test_who_may_grant_on_all_tables_grants_on_none_that_is_not_there(seed: int, wider: Scope) -> None:
    """Her right does not end with the table, and what she granted on the old one ends all the same."""
    place = Place(seed)

    def body() -> None:
        place.create()
        place.grant("eve", wider)
        found = place.while_eve_grants(TABLE, lambda: (place.drop(), place.runtime.sleep(0.5))[0])
        assert found == []
        place.create()
        place.runtime.sleep(1.0)
        with acting_as(ROOT):
            assert place.second.grants_at(TABLE) == []

    place.run(body)


@pytest.mark.parametrize("seed", SEEDS)
def test_who_lost_the_right_to_grant_does_not_give_it_to_himself_again(seed: int) -> None:
    place = Place(seed)

    def revoked() -> None:
        with acting_as(ROOT):
            place.gateway.guard.revoke("eve", TABLE)

    def body() -> None:
        place.create()
        place.grant("eve", TABLE)
        assert place.while_eve_grants(TABLE, revoked) == []

    place.run(body)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_creator_has_no_right_to_the_next_table_of_that_name(seed: int) -> None:
    place = Place(seed)

    def body() -> None:
        place.grant("ann", NAMESPACE, Action.CREATE)
        create = ADMIN["adminCreateTable"](place.second, lambda *_: place.create())
        place.second.refresh()

        def ann() -> None:
            with acting_as(ANN):
                create(AdminTable(b"ns:d"), [])

        task = place.runtime.spawn(ann, name="ann")
        while True:
            try:
                place.drop()
                break
            except HbtableError:
                place.runtime.sleep(place.chance.random() / 500)
        place.create()
        assert task.join(600.0)
        assert task.error is None
        place.runtime.sleep(1.0)
        with acting_as(ROOT):
            assert place.second.grants_at(TABLE) == []

    place.run(body)


def test_a_creator_has_every_right_at_once() -> None:
    place = Place(1)

    def body() -> None:
        structs = interface("thrift1")
        place.grant("ann", NAMESPACE, Action.CREATE)
        ann = place.gateway.client(ANN, "thrift1")
        ann.createTable(b"ns:d", [structs.ColumnDescriptor(name=b"f")])
        ann.mutateRow(b"ns:d", b"r", [structs.Mutation(column=b"f:q", value=b"v")], {})
        with acting_as(ROOT):
            assert place.gateway.guard.grants_at(TABLE) == [Grant("ann", TABLE, EVERY_ACTION)]

    place.run(body)

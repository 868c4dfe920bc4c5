"""Creates, alters and deletes namespaces: rows of METADATA, changed by compare-and-set.

A namespace is deleted only when no table has its name in front. Changes of one namespace, and the creation of a table's
record in it, wait for each other.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, final

from hbtable.access.grants_file import forget
from hbtable.access.scopes import Scope
from hbtable.errors import InvalidRequest, NamespaceNotFound
from hbtable.lockservice.interface import Session
from hbtable.master.tables.schema_check import check_properties
from hbtable.metadata.catalog import Catalog
from hbtable.model import names
from hbtable.model.values import check_bytes
from hbtable.quotas.quotas_file import forget as forget_quotas
from hbtable.runtime.interface import Runtime
from hbtable.runtime.keyed_locks import KeyedLocks
from hbtable.switches import switches

_BUILT_IN: Final = (names.DEFAULT_NAMESPACE, names.SYSTEM_NAMESPACE)


@final
class Namespaces:
    """Creates, alters and deletes namespaces, one after another each. `check_master` raises when this is not the
    master."""

    def __init__(self, runtime: Runtime, session: Session, catalog: Catalog, check_master: Callable[[], None]) -> None:
        self._session = session
        self._catalog = catalog
        self._check_master = check_master
        self._locks = KeyedLocks[bytes](runtime)

    @switches
    def create(self, name: bytes, properties: Mapping[str, str]) -> None:
        """AlreadyExists, InvalidRequest."""
        names.check_namespace(name)
        check_properties(name, properties)
        with self._locks.hold(name):
            self._check_master()
            if not self._catalog.has_namespace(name):
                forget(self._session, Scope(name))
            self._catalog.create_namespace(name, properties)

    @switches
    def alter(self, name: bytes, properties: Mapping[str, str]) -> None:
        """NamespaceNotFound, InvalidRequest."""
        check_bytes("the namespace", name)
        check_properties(name, properties)
        _refuse_builtin(name, "changed")
        with self._locks.hold(name):
            self._check_master()
            self._catalog.replace_namespace(name, properties)

    @switches
    def delete(self, name: bytes) -> None:
        """NamespaceNotFound; InvalidRequest while it holds tables."""
        check_bytes("the namespace", name)
        _refuse_builtin(name, "removed")
        with self._locks.hold(name):
            self._check_master()
            if not self._catalog.has_namespace(name):
                raise NamespaceNotFound(f"namespace {names.shown(name)} does not exist")
            held = sum(names.split(record.schema.name)[0] == name for record in self._catalog.tables())
            if held:
                raise InvalidRequest(
                    f"Only empty namespaces can be removed. Namespace {names.shown(name)} has {held} tables"
                )
            forget(self._session, Scope(name))  # first: should this end here, nobody has a right too many
            forget_quotas(self._session, namespace=name)
            self._catalog.delete_namespace(name)

    @contextmanager
    @switches
    def kept_for(self, table: bytes) -> Iterator[None]:
        """While this is held, the table's namespace exists and nobody deletes it. Otherwise a delete that has seen no
        table in it could pass a table that is just being created. NamespaceNotFound."""
        name, _ = names.split(table)
        if name in _BUILT_IN:  # never deleted: many tables may be created in it at once
            yield
            return
        with self._locks.hold(name):
            self._check_master()
            if not self._catalog.has_namespace(name):
                raise NamespaceNotFound(f"namespace {names.shown(name)} of table {names.shown(table)} does not exist")
            yield


def _refuse_builtin(name: bytes, what: str) -> None:
    if name in _BUILT_IN:
        raise InvalidRequest(f"namespace {names.shown(name)} always exists and cannot be {what}")

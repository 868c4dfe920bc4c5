"""Creates, alters and deletes namespaces: rows of METADATA, changed by compare-and-set.

A namespace is deleted only when no table has its name in front; a table that is being created at the same moment has
checked its namespace before, so it may be left with one that is gone: then the namespace can be created again.
"""

from collections.abc import Callable, Mapping
from typing import final

from hbtable.errors import InvalidRequest, NamespaceNotFound
from hbtable.master.tables.schema_check import check_properties
from hbtable.metadata.catalog import Catalog
from hbtable.model import names
from hbtable.model.values import check_bytes
from hbtable.switches import switches


@final
class Namespaces:
    """Creates, alters and deletes namespaces. `check_master` raises when this is not the master."""

    def __init__(self, catalog: Catalog, check_master: Callable[[], None]) -> None:
        self._catalog = catalog
        self._check_master = check_master

    @switches
    def create(self, name: bytes, properties: Mapping[str, str]) -> None:
        """AlreadyExists, InvalidRequest."""
        names.check_namespace(name)
        check_properties(name, properties)
        self._check_master()
        self._catalog.create_namespace(name, properties)

    @switches
    def alter(self, name: bytes, properties: Mapping[str, str]) -> None:
        """NamespaceNotFound, InvalidRequest."""
        check_bytes("the namespace", name)
        check_properties(name, properties)
        self._check_master()
        _refuse_builtin(name, "changed")
        self._catalog.replace_namespace(name, properties)

    @switches
    def delete(self, name: bytes) -> None:
        """NamespaceNotFound; InvalidRequest while it holds tables."""
        check_bytes("the namespace", name)
        self._check_master()
        _refuse_builtin(name, "removed")
        if not self._catalog.has_namespace(name):
            raise NamespaceNotFound(f"namespace {_shown(name)} does not exist")
        held = sum(names.split(record.schema.name)[0] == name for record in self._catalog.tables())
        if held:
            raise InvalidRequest(f"Only empty namespaces can be removed. Namespace {_shown(name)} has {held} tables")
        self._catalog.delete_namespace(name)


def _refuse_builtin(name: bytes, what: str) -> None:
    if name in (names.DEFAULT_NAMESPACE, names.SYSTEM_NAMESPACE):
        raise InvalidRequest(f"namespace {_shown(name)} always exists and cannot be {what}")


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")

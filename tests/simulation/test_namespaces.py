"""Namespaces that are deleted while others use them: what was answered is so."""

from hbtable.errors import Conflict, InvalidRequest, NamespaceNotFound

NAMES = [b"n%02d" % number for number in range(40)]


def test_no_table_stands_in_a_namespace_that_was_deleted(machine):
    def body(cluster):
        admin = cluster.client.admin
        ends = {"created": 0, "deleted": 0}

        def create(name):
            try:
                admin.create_table(machine.schema(name + b":t"))
                ends["created"] += 1
            except NamespaceNotFound:
                pass

        def delete(name):
            try:
                admin.delete_namespace(name)
                ends["deleted"] += 1
            except InvalidRequest:
                pass

        for name in NAMES:
            admin.create_namespace(name, {})
        both = [machine.runtime.spawn(what, name) for name in NAMES for what in (create, delete)]
        assert all(task.join(600.0) and task.error is None for task in both)
        held = {record.schema.name.partition(b":")[0] for record in admin.tables()}
        assert held <= set(admin.namespaces())
        assert ends["created"] == len(held)
        return ends

    ends = machine.life(body)
    assert sum(ends.values()) == len(NAMES)
    assert all(ends.values()), ends


def test_a_namespace_that_was_deleted_while_it_was_altered_is_gone(machine):
    def body(cluster):
        admin = cluster.client.admin
        deleted = set()

        def alter(name):
            try:
                admin.alter_namespace(name, {"a": "b"})
            except (NamespaceNotFound, Conflict):
                pass

        def delete(name):
            try:
                admin.delete_namespace(name)
                deleted.add(name)
            except Conflict:
                pass

        for name in NAMES:
            admin.create_namespace(name, {})
        both = [machine.runtime.spawn(what, name) for name in NAMES for what in (alter, delete)]
        assert all(task.join(600.0) and task.error is None for task in both)
        assert deleted.isdisjoint(admin.namespaces())
        return len(deleted)

    assert machine.life(body) == len(NAMES)

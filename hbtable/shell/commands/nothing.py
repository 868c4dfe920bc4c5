"""Lists of what hbtable has none of: the answer is true, and empty."""

from hbtable.shell.context import Context
from hbtable.shell.language.literals import Value


def _empty(context: Context, *titles: str) -> None:
    context.out.begin(titles)
    context.out.end(0)


def list_peers(context: Context, _: list[Value]) -> Value:
    _empty(
        context, "PEER_ID", "CLUSTER_KEY", "ENDPOINT_CLASSNAME", "STATE", "REPLICATE_ALL", "NAMESPACES", "TABLE_CFS",
        "BANDWIDTH", "SERIAL",
    )  # fmt: skip
    return None


def list_replicated_tables(context: Context, _: list[Value]) -> Value:
    _empty(context, "TABLE:COLUMNFAMILY", "ReplicationType")
    return None


def list_procedures(context: Context, _: list[Value]) -> Value:
    _empty(context, "PID", "Name", "State", "Submitted", "Last_Update", "Parameters")
    return None


def list_locks(_: Context, __: list[Value]) -> Value:
    return None


def list_rsgroups(context: Context, _: list[Value]) -> Value:
    _empty(context, "NAME", "SERVER / TABLE")
    return None


def list_labels(context: Context, _: list[Value]) -> Value:
    context.out.end(0)
    return None


def processlist(context: Context, _: list[Value]) -> Value:
    context.out.say("No general tasks currently running.")
    return None

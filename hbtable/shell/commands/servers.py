"""The living servers, and what the lock service holds."""

from hbtable.shell.context import Context
from hbtable.shell.literals import Value


def _listed(context: Context, title: str, names: list[str]) -> None:
    context.out.begin((title,))
    for name in names:
        context.out.row((name,), {"server": name})
    context.out.end(len(names))


def list_liveservers(context: Context, _: list[Value]) -> Value:
    found = context.server.admin("adminServers")
    _listed(context, "SERVERNAME", [f"{one.host},{one.port},{one.started_millis}" for one in found])
    return None


def zk_dump(context: Context, _: list[Value]) -> Value:
    servers = context.server.admin("adminServers")
    context.out.say("hbtable keeps this in its lock service:")
    context.out.say(f"cluster id: {context.server.hbase('getClusterId')}")
    for server in servers:
        context.out.say(f"tablet server: {server.name} {server.host}:{server.port}")
    return None

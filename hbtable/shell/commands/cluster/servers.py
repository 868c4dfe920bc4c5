"""Tablet servers: the living, the dead, those that nobody knows, those out of service; what the lock service holds."""

from hbtable.hbase.admin.structs import AdminServer
from hbtable.shell.commands.cluster.moving import known_region
from hbtable.shell.context import Context, text_of
from hbtable.shell.errors import ArgumentError, ServerError
from hbtable.shell.language.literals import Value, class_of, inspect, shown


def name_of(server: AdminServer) -> str:
    return f"{server.host},{server.port},{server.started_millis}"


def servers_named(context: Context, wanted: Value) -> list[AdminServer]:
    """`'*'`: all that live. A name, or an array of them: host, `host,port` or `host,port,startcode`; each server once.
    ArgumentError for a name that none has."""
    names = [] if wanted == b"*" else wanted if isinstance(wanted, list) else [wanted]
    if not all(isinstance(name, bytes) for name in names):
        raise ArgumentError(f"{class_of(wanted)} of {inspect(wanted)} is not of Array/String type")
    if wanted == []:
        return []
    try:
        found: list[AdminServer] = context.server.admin("adminServers", names)
    except ServerError as error:
        if error.java_class == "java.lang.IllegalArgumentException":
            raise ArgumentError(str(error)) from None
        raise
    return found


def _listed(context: Context, title: str, names: list[str]) -> None:
    context.out.begin((title,))
    for name in names:
        context.out.row((name,), {"server": name})
    context.out.end(len(names))


def list_liveservers(context: Context, _: list[Value]) -> Value:
    found = context.server.admin("adminServers", [])
    _listed(context, "SERVERNAME", [name_of(one) for one in found])
    return None


def list_deadservers(context: Context, _: list[Value]) -> Value:
    """By their names inside hbtable: where a server was reached is forgotten when it is expired."""
    _listed(context, "SERVERNAME", context.server.admin("adminDeadServers"))
    return None


def list_unknownservers(context: Context, _: list[Value]) -> Value:
    _listed(context, "SERVERNAME", context.server.admin("adminUnknownServers"))
    return None


def clear_deadservers(context: Context, arguments: list[Value]) -> Value:
    """A dead server is listed exactly as long as its log is needed, so those that are asked for stay."""
    dead: list[str] = context.server.admin("adminDeadServers")
    asked = [shown(one) for argument in arguments for one in (argument if isinstance(argument, list) else [argument])]
    left = [name for name in dead if name in asked] if asked else dead
    if not left:
        context.out.row(("true",), {"cleared": True})
        return None
    context.out.say("Some dead server clear failed")
    _listed(context, "SERVERNAME", left)
    context.out.note("their logs hold writes that are in no SSTable yet; they leave the list when that is done")
    return None


def list_decommissioned_regionservers(context: Context, _: list[Value]) -> Value:
    _listed(context, "DECOMMISSIONED REGION SERVERS", context.server.admin("adminDecommissioned"))
    return None


def decommission_regionservers(context: Context, arguments: list[Value]) -> Value:
    """A server or an array of them, by host, `host,port` or `host,port,startcode`; whether regions are to leave."""
    wanted, offload = arguments[0], arguments[1] if len(arguments) > 1 else False
    if not isinstance(wanted, (bytes, list)) or wanted == b"*":
        raise ArgumentError(f"{class_of(wanted)} of {inspect(wanted)} is not of Array/String type")
    if not isinstance(offload, (bool, bytes)):
        raise ArgumentError(f"{shown(offload)} is not a boolean value")
    names = [one.name.encode() for one in servers_named(context, wanted)]
    context.server.admin("adminDecommission", names, shown(offload).lower() == "true")
    return None


def recommission_regionserver(context: Context, arguments: list[Value]) -> Value:
    """A server, and an array of encoded names of regions to move to it."""
    server, regions = arguments[0], arguments[1] if len(arguments) > 1 else []
    if not isinstance(server, bytes):
        raise ArgumentError(f"{class_of(server)} of {inspect(server)} is not of String type")
    if not isinstance(regions, list):
        raise ArgumentError(f"{class_of(regions)} of {inspect(regions)} is not of Array type")
    found = servers_named(context, server)
    if len(found) > 1:
        raise ArgumentError(f"{shown(server)} has several servers: {' '.join(map(name_of, found))}")
    known = [known_region(context, region) for region in regions]
    context.server.admin("adminRecommission", found[0].name.encode())
    for table, tablet in known:
        context.on_table(table, "adminMove", tablet.tablet_id, found[0].name.encode())
    return None


def wal_roll(context: Context, arguments: list[Value]) -> Value:
    """By host, `host,port` or `host,port,startcode`."""
    names = [one.name.encode() for one in servers_named(context, text_of(arguments[0], "a server's name"))]
    context.server.admin("adminRollLog", names)
    return None


def wal_roll_all(context: Context, _: list[Value]) -> Value:
    context.server.admin("adminRollLog", [])
    return None


def zk_dump(context: Context, _: list[Value]) -> Value:
    servers = context.server.admin("adminServers", [])
    context.out.say("hbtable keeps this in its lock service:")
    context.out.say(f"cluster id: {context.server.hbase('getClusterId')}")
    for server in servers:
        context.out.say(f"tablet server: {server.name} {server.host}:{server.port}")
    return None

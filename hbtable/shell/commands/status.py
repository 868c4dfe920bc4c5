"""status [, 'summary' | 'simple' | 'detailed' | 'replication']: the cluster in lines."""

from hbtable.hbase.admin_structs import AdminServer, AdminTablet, AdminTransition
from hbtable.shell.commands.moving import transition_text
from hbtable.shell.context import Context, show_name
from hbtable.shell.literals import Value, shown


def status(context: Context, arguments: list[Value]) -> Value:
    form = shown(arguments[0]) if arguments else "summary"
    servers: list[AdminServer] = context.server.admin("adminServers")
    if form in ("simple", "detailed") and context.out.wants_records:
        _records(context, servers, form == "detailed")
    elif form == "simple":
        _simple(context, servers)
    elif form == "detailed":
        _detailed(context, servers)
    elif form == "replication":
        _replication(context, servers)
    else:
        tablets = sum(len(server.tablets or ()) for server in servers)
        load = tablets / len(servers) if servers else 0.0
        dead = len(context.server.admin("adminDeadServers"))
        context.out.row(
            (f"1 active master, 0 backup masters, {len(servers)} servers, {dead} dead, {load:.4f} average load",),
            {"masters": 1, "backup_masters": 0, "servers": len(servers), "dead": dead, "regions": tablets},
        )
    return None


def _records(context: Context, servers: list[AdminServer], detailed: bool) -> None:
    """A row for each server or, in detail, each region."""
    context.out.begin(("SERVER",))
    for server in servers:
        of_server: dict[str, object] = {"server": f"{server.host},{server.port},{server.started_millis}"}
        tablets = server.tablets or []
        if not detailed:
            context.out.row((), {**of_server, "regions": len(tablets), **_sizes(tablets)})
        for tablet in tablets if detailed else ():
            context.out.row((), {**of_server, "region": tablet.name, **_sizes([tablet])})
    context.out.end(None)


def _simple(context: Context, servers: list[AdminServer]) -> None:
    say = context.out.say
    _masters(context, servers)
    say(f"{len(servers)} live servers")
    for server in servers:
        say(f"    {server.host}:{server.port} {server.started_millis}")
        say(f"        {_load(server)}")
    _dead(context)
    say(f"Aggregate load: 0, regions: {sum(len(server.tablets or ()) for server in servers)}")


def _detailed(context: Context, servers: list[AdminServer]) -> None:
    from hbtable import __version__

    say = context.out.say
    say(f"version {__version__}")
    moving: list[AdminTransition] = context.server.admin("adminTransitions")
    say(f"{len(moving)} regionsInTransition")
    for one in moving:
        say(f"    {transition_text(one)}")
    _masters(context, servers)
    say("master coprocessors: []")
    say(f"{len(servers)} live servers")
    for server in servers:
        say(f"    {server.host}:{server.port} {server.started_millis}")
        say(f"        {_load(server)}")
        for tablet in server.tablets or ():
            say(f'        "{show_name(tablet.name)}"')
            say(f"            {_of_tablet(tablet)}")
    _dead(context)


def _dead(context: Context) -> None:
    names: list[str] = context.server.admin("adminDeadServers")
    context.out.say(f"{len(names)} dead servers")
    for name in names:
        context.out.say(f"    {name}")


def _replication(context: Context, servers: list[AdminServer]) -> None:
    from hbtable import __version__

    context.out.say(f"version {__version__}")
    context.out.say(f"{len(servers)} live servers")
    context.out.note("hbtable does not replicate to other clusters")


def _masters(context: Context, servers: list[AdminServer]) -> None:
    """The embedded master lives in the first server's process."""
    started = servers[0].started_millis if servers else 0
    server = context.server
    context.out.say(f"active master:  {server.host}:{server.port} {started}")
    context.out.say("0 backup masters")


def _load(server: AdminServer) -> str:
    tablets = server.tablets or []
    pairs = {
        "numberOfOnlineRegions": len(tablets),
        "numberOfStores": server.families,
        "numberOfStorefiles": sum(tablet.sstables for tablet in tablets),
        **_sizes(tablets),
    }
    return ", ".join(f"{name}={value}" for name, value in pairs.items())


def _of_tablet(tablet: AdminTablet) -> str:
    pairs = {"numberOfStorefiles": tablet.sstables, **_sizes([tablet])}
    return ", ".join(f"{name}={value}" for name, value in pairs.items())


def _sizes(tablets: list[AdminTablet]) -> dict[str, object]:
    """HBase's names, of those only what hbtable counts."""
    return {
        "storefileSizeMB": sum(tablet.sstable_bytes for tablet in tablets) >> 20,
        "memstoreSizeMB": sum(tablet.memtable_bytes for tablet in tablets) >> 20,
        "readRequestsCount": sum(tablet.reads for tablet in tablets),
        "writeRequestsCount": sum(tablet.writes for tablet in tablets),
    }

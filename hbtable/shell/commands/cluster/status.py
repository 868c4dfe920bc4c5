"""status [, 'summary' | 'simple' | 'detailed' | 'replication' | 'families']: the cluster in lines."""

from hbtable.hbase.admin.structs import AdminServer, AdminStatus, AdminTablet
from hbtable.shell.commands.cluster.families import family_usage
from hbtable.shell.commands.cluster.moving import transition_text
from hbtable.shell.context import Context, show_name
from hbtable.shell.language.literals import Value, shown


def status(context: Context, arguments: list[Value]) -> Value:
    form = shown(arguments[0]) if arguments else "summary"
    if form == "families":
        return family_usage(context, arguments)
    found: AdminStatus = context.server.admin("adminStatus")
    servers = found.servers or []
    if form in ("simple", "detailed") and context.out.wants_records:
        _records(context, servers, form == "detailed")
    elif form == "simple":
        _simple(context, found)
    elif form == "detailed":
        _detailed(context, found)
    elif form == "replication":
        _replication(context, servers)
    else:
        tablets = sum(len(server.tablets or ()) for server in servers)
        load = tablets / len(servers) if servers else 0.0
        active, standbys, dead = (len(some or ()) for some in (found.active, found.standbys, found.dead))
        context.out.row(
            (
                f"{active} active master, {standbys} backup masters, {len(servers)} servers, {dead} dead, "
                f"{load:.4f} average load",
            ),
            {"masters": active, "backup_masters": standbys, "servers": len(servers), "dead": dead, "regions": tablets},
        )
    _unreachable(context, found)
    _silent(context, servers)
    _task_deaths(context, found)
    _damage(context, servers)
    _not_served(context, found)
    if found.balancer_rests:
        context.out.note(f"the balancer rests: {found.balancer_rests}")
    return None


def _unreachable(context: Context, found: AdminStatus) -> None:
    """They are no dead ones: they hold their locks."""
    for one in found.unreachable or ():
        context.out.note(f"unreachable: {one.server}; by: {one.who}")


def _silent(context: Context, servers: list[AdminServer]) -> None:
    """They live, and may be busy; they would seem to serve nothing."""
    for server in servers:
        if server.silent:
            name = f"{server.host},{server.port},{server.started_millis}"
            context.out.note(f"did not answer: {name}; its regions are not counted")


def _task_deaths(context: Context, found: AdminStatus) -> None:
    """A server of an older version says nothing of them."""
    for one in found.task_deaths or ():
        context.out.note(f"task died: {one.process}: {one.what}")


def _damage(context: Context, servers: list[AdminServer]) -> None:
    damaged = [tablet for server in servers for tablet in server.tablets or () if tablet.damaged]
    if damaged:
        files = sum(tablet.damaged for tablet in damaged)
        context.out.note(
            f"damaged: {files} files of {len(damaged)} regions cannot be read whole; status 'detailed' names the "
            "regions, /readyz and the server's log the files"
        )


def _not_served(context: Context, found: AdminStatus) -> None:
    """On their way, or refused by their server: damaged logs and withheld tablets are seen here alone."""
    count = len(found.transitions or ())
    if count:
        context.out.note(
            f"not served now: {count} regions; status 'detailed' names them, /readyz and the servers' logs the reasons"
        )


def _records(context: Context, servers: list[AdminServer], detailed: bool) -> None:
    """A row for each server or, in detail, each region."""
    context.out.begin(("SERVER",))
    for server in servers:
        of_server: dict[str, object] = {"server": f"{server.host},{server.port},{server.started_millis}"}
        tablets = server.tablets or []
        if server.silent:
            context.out.row((), {**of_server, "silent": True})
        elif not detailed:
            context.out.row((), {**of_server, "regions": len(tablets), **_sizes(tablets)})
        for tablet in tablets if detailed else ():
            context.out.row((), {**of_server, "region": tablet.name, **_sizes([tablet])})
    context.out.end(None)


def _simple(context: Context, found: AdminStatus) -> None:
    say, servers = context.out.say, found.servers or []
    _masters(context, found)
    say(f"{len(servers)} live servers")
    for server in servers:
        say(f"    {server.host}:{server.port} {server.started_millis}")
        say(f"        {_load(server)}")
    _dead(context, found)
    say(f"Aggregate load: 0, regions: {sum(len(server.tablets or ()) for server in servers)}")


def _detailed(context: Context, found: AdminStatus) -> None:
    from hbtable import __version__

    say, servers, moving = context.out.say, found.servers or [], found.transitions or []
    say(f"version {__version__}")
    say(f"{len(moving)} regionsInTransition")
    for one in moving:
        say(f"    {transition_text(one)}")
    _masters(context, found)
    say("master coprocessors: []")
    say(f"{len(servers)} live servers")
    for server in servers:
        say(f"    {server.host}:{server.port} {server.started_millis}")
        say(f"        {_load(server)}")
        for tablet in server.tablets or ():
            say(f'        "{show_name(tablet.name)}"')
            say(f"            {_of_tablet(tablet)}")
    _dead(context, found)


def _dead(context: Context, found: AdminStatus) -> None:
    names = found.dead or []
    context.out.say(f"{len(names)} dead servers")
    for name in names:
        context.out.say(f"    {name}")


def _replication(context: Context, servers: list[AdminServer]) -> None:
    from hbtable import __version__

    context.out.say(f"version {__version__}")
    context.out.say(f"{len(servers)} live servers")
    context.out.note("hbtable does not replicate to other clusters")


def _masters(context: Context, found: AdminStatus) -> None:
    for one in found.active or ():
        context.out.say(f"active master:  {one.host}:{one.port} {one.started_millis}")
    standbys = found.standbys or []
    context.out.say(f"{len(standbys)} backup masters")
    for one in standbys:
        context.out.say(f"    {one.host}:{one.port} {one.started_millis}")


def _load(server: AdminServer) -> str:
    if server.silent:
        return "did not answer"
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
    if tablet.damaged:
        pairs["damagedStorefiles"] = tablet.damaged
    return ", ".join(f"{name}={value}" for name, value in pairs.items())


def _sizes(tablets: list[AdminTablet]) -> dict[str, object]:
    """HBase's names, of those only what hbtable counts."""
    return {
        "storefileSizeMB": sum(tablet.sstable_bytes for tablet in tablets) >> 20,
        "memstoreSizeMB": sum(tablet.memtable_bytes for tablet in tablets) >> 20,
        "readRequestsCount": sum(tablet.reads for tablet in tablets),
        "writeRequestsCount": sum(tablet.writes for tablet in tablets),
    }

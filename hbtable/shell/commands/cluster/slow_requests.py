"""get_slowlog_responses, clear_slowlog_responses: requests that took long, of each server's own gateway."""

import json
from typing import Final

from hbtable.hbase.admin.structs import AdminServer, AdminSlowRequest
from hbtable.shell.commands.cluster.servers import name_of, servers_named
from hbtable.shell.context import Context
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value, inspect, shown

_MOST: Final = 10
_KNOWN: Final = (b"LIMIT", b"TABLE_NAME", b"CLIENT_IP", b"FILTER_BY_OP")


def get_slowlog_responses(context: Context, arguments: list[Value]) -> Value:
    """`'*'`, a server or an array of them; then a hash with LIMIT, TABLE_NAME, CLIENT_IP, FILTER_BY_OP."""
    options = arguments[1] if len(arguments) > 1 else {}
    if not isinstance(options, dict):
        raise ArgumentError("Filter parameters are not Hash")
    for option in options:
        if option not in _KNOWN:
            raise ArgumentError(f"{shown(option)}: slow requests are chosen by {', '.join(map(shown, _KNOWN))}")
    if options.get(b"FILTER_BY_OP", b"OR") not in (b"OR", b"AND"):
        raise ArgumentError("FILTER_BY_OP should be either OR / AND")
    most = options.get(b"LIMIT", _MOST)
    if not isinstance(most, int) or most < 0:
        raise ArgumentError(f"LIMIT must be a number, not {inspect(most)}")
    context.out.say("Retrieved SlowLog Responses from RegionServers")
    for server in servers_named(context, arguments[0]):
        requests: list[AdminSlowRequest] = _ask(context, server, "adminSlowRequests")
        for request in [one for one in requests if _is_wanted(one, options)][:most]:
            fields = _fields(request)
            if context.out.wants_records:
                context.out.row((), {"server": name_of(server), **fields})
            else:
                context.out.say(json.dumps(fields, indent=2, ensure_ascii=False))
    return None


def clear_slowlog_responses(context: Context, arguments: list[Value]) -> Value:
    servers = servers_named(context, arguments[0] if arguments else b"*")
    for server in servers:
        _ask(context, server, "adminClearSlowRequests")
    context.out.say(f"Cleared Slowlog responses from {len(servers)}/{len(servers)} RegionServers")
    return None


def _ask(context: Context, server: AdminServer, method: str) -> list[AdminSlowRequest]:
    """Each gateway knows its own requests only, so it is asked itself. CannotConnect."""
    here = context.server
    if (server.host, server.port) == (here.host, here.port):
        found: list[AdminSlowRequest] = here.admin(method)
        return found
    connection = here.beside(server.host, server.port)
    try:
        found = connection.admin(method)
    finally:
        connection.close()
    return found


def _is_wanted(request: AdminSlowRequest, options: dict[Value, Value]) -> bool:
    """Without conditions all are; of several one is enough, unless FILTER_BY_OP says AND."""
    answers = []
    if b"TABLE_NAME" in options:
        answers.append(request.table == shown(options[b"TABLE_NAME"]))
    if b"CLIENT_IP" in options:
        address = shown(options[b"CLIENT_IP"])
        answers.append(address in (request.client, request.client.rpartition(":")[0]))
    return not answers or (all if options.get(b"FILTER_BY_OP") == b"AND" else any)(answers)


def _fields(request: AdminSlowRequest) -> dict[str, object]:
    """HBase's names where it has one; times in milliseconds."""
    return {
        "startTime": request.ended_millis - round(request.seconds * 1000),
        "processingTime": round(request.handling_seconds * 1000),
        "queueTime": round(request.decoding_seconds * 1000),
        "answeringTime": round(request.answering_seconds * 1000),
        "requestSize": request.request_bytes,
        "responseSize": request.answer_bytes,
        "clientAddress": request.client,
        "methodName": request.method,
        "tableName": request.table,
        "row": request.row,
        "outcome": request.outcome,
    }

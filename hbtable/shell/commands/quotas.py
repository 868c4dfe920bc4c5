"""set_quota, list_quotas, enable_rpc_throttle, disable_rpc_throttle, list_quota_table_sizes, list_quota_snapshots."""

import re
from typing import Final

from hbtable.shell.arguments.names import namespace_of, table_of
from hbtable.shell.commands.cluster.switches import is_true
from hbtable.shell.commands.tables.listing import pattern_of
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ArgumentError, ServerError, ShellError
from hbtable.shell.language.literals import Value, inspect, shown

_LIMIT: Final = re.compile(r"(\d+)(req|cu|[bkmgtp])/(sec|min|hour|day)", re.IGNORECASE)
_SECONDS: Final = {"sec": 1, "min": 60, "hour": 3600, "day": 86400}
_TIMES: Final = {str(seconds): word for word, seconds in _SECONDS.items()}
_SPACE: Final = re.compile(r"(\d+)([bkmgtp])?", re.IGNORECASE)
_POLICIES: Final = ("NO_INSERTS", "NO_WRITES", "NO_WRITES_COMPACTIONS", "DISABLE")
_SIZES: Final = "BKMGTP"
_SUBJECTS: Final = {b"USER": "user", b"TABLE": "table", b"NAMESPACE": "namespace"}
_KINDS: Final = {"req": "NUMBER", "cu": "CAPACITY_UNIT"}
_TYPES: Final = tuple(
    f"{what}_{counted}" for what in ("REQUEST", "READ", "WRITE") for counted in ("NUMBER", "SIZE", "CAPACITY_UNIT")
)
_ENUM: Final = "org.apache.hadoop.hbase.quotas."


def set_quota(context: Context, arguments: list[Value]) -> Value:
    given = dict(_hash(arguments))
    if b"TYPE" not in given:
        if b"GLOBAL_BYPASS" not in given:
            raise ShellError("Expected TYPE argument")
        exempt = is_true(given.pop(b"GLOBAL_BYPASS"))
        if b"USER" not in given:
            raise ShellError("Expected USER argument")
        user = shown(given.pop(b"USER"))
        _nothing_left(given)
        context.server.admin("adminSetQuotaExemption", user, exempt)
        if exempt:
            _tell_of_users(context, "no call is exempt")
        return None
    kind = given.pop(b"TYPE")
    if kind == b"SPACE":
        _set_space_limit(context, given)
    elif kind == b"THROTTLE":
        _set_throttle(context, given)
    else:
        raise ShellError(f"Invalid TYPE argument. got {shown(kind)}")
    return None


def list_quotas(context: Context, arguments: list[Value]) -> Value:
    context.out.begin(("OWNER", "QUOTAS"))
    given = _hash(arguments)
    most = given.get(b"LIMIT")
    found = [one for one in context.server.admin("adminQuotas") if _is_wanted(one, given)]
    for one in found[: most if isinstance(most, int) else None]:
        context.out.row((_owner(one), _quota(one)), dict(one))
    context.out.end(len(found[: most if isinstance(most, int) else None]))
    return None


def list_quota_table_sizes(context: Context, _: list[Value]) -> Value:
    found = context.server.admin("adminSpaceUsage")
    context.out.begin(("TABLE", "SIZE"))
    for one in found:
        context.out.row((one["table"], one["bytes"]), dict(one))
    context.out.end(len(found))
    return None


def list_quota_snapshots(context: Context, arguments: list[Value]) -> Value:
    given = _hash(arguments)
    found = [one for one in context.server.admin("adminSpaceUsage") if "limit" in one and _is_of(one["table"], given)]
    context.out.begin(("TABLE", "USAGE", "LIMIT", "IN_VIOLATION", "POLICY"))
    for one in found:
        policy = one["policy"] if one["violated"] == "true" else "None"
        context.out.row((one["table"], one["bytes"], one["limit"], one["violated"], policy), dict(one))
    context.out.end(len(found))
    return None


def _is_of(table: str, given: dict[Value, Value]) -> bool:
    """Whether the table is the wanted one, and in the wanted namespace."""
    if b"TABLE" in given and shown(table_of(given[b"TABLE"])).removeprefix("default:") != table:
        return False
    space, _, _ = table.rpartition(":")
    return b"NAMESPACE" not in given or shown(given[b"NAMESPACE"]) == (space or "default")


def say_quotas(context: Context, word: str, name: bytes) -> None:
    """The quotas of a table or a namespace, `word` says which, at the end of its description."""
    try:
        quotas = context.server.admin("adminQuotas")
    except ServerError:  # of an earlier release, which has none
        quotas = []
    found = [one for one in quotas if one.get(word) == show_name(name) and "user" not in one]
    if not found:
        context.out.say("Quota is disabled")
        return
    context.out.say("QUOTAS")
    for one in found:
        context.out.say(_quota(one))
    context.out.end(len(found))


def enable_rpc_throttle(context: Context, _: list[Value]) -> Value:
    return _turn(context, True)


def disable_rpc_throttle(context: Context, _: list[Value]) -> Value:
    return _turn(context, False)


def _turn(context: Context, on: bool) -> bool:
    before = bool(context.server.admin("adminSetThrottling", on))
    context.out.row((f"Previous rpc throttle state : {str(before).lower()}",), {"previous": before})
    return before


def _hash(arguments: list[Value]) -> dict[Value, Value]:
    given = arguments[0] if arguments else {}
    if not isinstance(given, dict):
        raise ArgumentError("Arguments should be a Hash")
    return given


def _nothing_left(given: dict[Value, Value]) -> None:
    if given:
        raise ArgumentError(f"Unexpected arguments: {inspect(given)}")


# ---------------------------------------------------------------- throttles


def _set_throttle(context: Context, given: dict[Value, Value]) -> None:
    limit, kind = given.pop(b"LIMIT", None), given.pop(b"THROTTLE_TYPE", None)
    scope = given.pop(b"SCOPE", b"MACHINE")
    ends = limit == b"NONE"
    if ends:
        name, number, seconds = _type_to_end(kind), 0, 1
    else:
        name, number, seconds = _limit(limit, "REQUEST" if kind is None else shown(kind))
    if scope not in (b"MACHINE", b"CLUSTER"):
        raise ArgumentError(f"Invalid throttle scope {shown(scope)}, must be MACHINE or CLUSTER")
    user, namespace, table, every_server = _subject(given)
    if every_server and scope == b"CLUSTER":
        raise ArgumentError("Invalid region server throttle scope, must be MACHINE")
    _nothing_left(given)
    subject = (user, namespace, table, every_server)
    context.server.admin("adminSetThrottle", *subject, name, number, seconds, scope == b"CLUSTER")
    if ends:
        return
    _tell_of_table(context, table)
    if user:
        _tell_of_users(context, "a limit on a user holds for no call")


def _tell_of_table(context: Context, table: bytes) -> None:
    if table and context.find_table(table) is None:
        context.out.note(f"there is no table {show_name(table)}, so the quota waits for one")


def _tell_of_users(context: Context, so: str) -> None:
    """It is kept for the day when the server asks for users."""
    if not context.server.admin("adminWhoAmI").name:
        context.out.note(f"this server does not ask who its users are (auth.enabled), so {so} until it does")


def _subject(given: dict[Value, Value]) -> tuple[str, bytes, bytes, bool]:
    """User, namespace, table, every server: taken out of the hash, in HBase's order."""
    user = shown(given.pop(b"USER")) if b"USER" in given else ""
    if b"TABLE" in given:
        return user, b"", table_of(given.pop(b"TABLE")), False
    if b"NAMESPACE" in given:
        return user, namespace_of(given.pop(b"NAMESPACE")), b"", False
    if not user and b"REGIONSERVER" in given:
        server = text_of(given.pop(b"REGIONSERVER"), "REGIONSERVER")
        if server != b"all":
            raise ArgumentError(
                f"a quota is on all region servers, not on {shown(server)} alone: REGIONSERVER => 'all'"
            )
        return "", b"", b"", True
    if not user:
        raise ShellError("One of USER, TABLE, NAMESPACE or REGIONSERVER must be specified")
    return user, b"", b"", False


def _limit(given: Value, kind: str) -> tuple[str, int, int]:
    """Type, limit, seconds."""
    if given is None:
        raise ArgumentError("Expected a LIMIT to be provided: '10req/sec', '5M/min', '100CU/hour' or NONE")
    found = _LIMIT.fullmatch(shown(given))
    if found is None:
        raise ArgumentError("Invalid throttle limit syntax")
    number, unit, time = int(found[1]), found[2].lower(), found[3].lower()
    name = f"{kind}_{_KINDS.get(unit, 'SIZE')}"
    if name not in _TYPES:
        raise _no_constant(name)
    number <<= 0 if unit in _KINDS else 10 * _SIZES.index(unit.upper())
    if number <= 0:
        raise ArgumentError("Invalid throttle limit, must be greater than 0")
    if number >> 63:
        raise ArgumentError(f"Invalid throttle limit, {shown(given)} is more than {(1 << 63) - 1} bytes")
    return name, number, _SECONDS[time]


def _type_to_end(kind: Value) -> str:
    name = "" if kind is None else shown(kind)
    if name and name not in _TYPES:
        raise _no_constant(name)
    return name


def _no_constant(name: str) -> ShellError:
    return ServerError(
        "java.lang.IllegalArgumentException",
        f"No enum constant {_ENUM}ThrottleType.{name}",
        f"THROTTLE_TYPE is one of REQUEST, READ, WRITE; with LIMIT => NONE one of {', '.join(_TYPES)}",
    )


# ---------------------------------------------------------------- space


def _set_space_limit(context: Context, given: dict[Value, Value]) -> None:
    ends = given.get(b"LIMIT") == b"NONE"
    if b"LIMIT" not in given:
        raise ArgumentError("Expected a LIMIT to be provided")
    limit = 0 if ends else _bytes(given[b"LIMIT"])
    del given[b"LIMIT"]
    policy = shown(given.pop(b"POLICY", None))
    if not policy and not ends:
        raise ArgumentError("Expected a POLICY to be provided")
    if b"TABLE" in given and b"NAMESPACE" in given:
        raise ArgumentError("Only one of TABLE and NAMESPACE can be specified.")
    if b"TABLE" not in given and b"NAMESPACE" not in given:
        raise ArgumentError("One of TABLE or NAMESPACE must be specified.")
    if not ends and policy not in _POLICIES:
        raise ServerError(
            "java.lang.IllegalArgumentException",
            f"No enum constant {_ENUM}SpaceViolationPolicy.{policy}",
            f"POLICY is one of {', '.join(_POLICIES)}",
        )
    table = table_of(given.pop(b"TABLE")) if b"TABLE" in given else b""
    namespace = namespace_of(given.pop(b"NAMESPACE")) if b"NAMESPACE" in given else b""
    _nothing_left(given)
    context.server.admin("adminSetSpaceLimit", namespace, table, limit, "" if ends else policy)
    if not ends:
        _tell_of_table(context, table)


def _bytes(given: Value) -> int:
    """A number of bytes, or with a unit."""
    found = _SPACE.fullmatch(shown(given))
    if found is None:
        raise ArgumentError(
            f"Invalid space limit {shown(given)}: it is a number of bytes, or has one of {_SIZES} behind"
        )
    number = int(found[1]) << 10 * _SIZES.index((found[2] or "B").upper())
    if number <= 0:
        raise ArgumentError("Invalid space limit, must be greater than 0")
    if number >> 63:
        raise ArgumentError(f"Invalid space limit, {shown(given)} is more than {(1 << 63) - 1} bytes")
    return number


# ---------------------------------------------------------------- lists


def _is_wanted(quota: dict[str, str], given: dict[Value, Value]) -> bool:
    """With USER what is his is listed, also on tables and namespaces; without it what is nobody's."""
    if b"REGIONSERVER" in given:
        return not any(word in quota for word in _SUBJECTS.values())
    wanted = {word: given[key] for key, word in _SUBJECTS.items() if key in given}
    if not wanted:
        return True
    if "user" in quota and "user" not in wanted:
        return False
    return all(word in quota and pattern_of(wish).fullmatch(quota[word]) for word, wish in wanted.items())


def _owner(quota: dict[str, str]) -> str:
    words = [f"{key.decode()} => {quota[word]}" for key, word in _SUBJECTS.items() if word in quota]
    return ", ".join(words) or "REGIONSERVER => all"


def _quota(quota: dict[str, str]) -> str:
    if "space" in quota:
        named = next(f"{key.decode()} => {quota[word]}" for key, word in _SUBJECTS.items() if word in quota)
        return f"TYPE => SPACE, {named}, LIMIT => {_size(int(quota['space']))}, VIOLATION_POLICY => {quota['policy']}"
    if "type" not in quota:
        return "GLOBAL_BYPASS => true"
    limit, time = int(quota["limit"]), _TIMES.get(quota["seconds"], f"{quota['seconds']} seconds")
    unit = "req" if quota["type"].endswith("NUMBER") else "CU"
    amount = _size(limit) if quota["type"].endswith("SIZE") else f"{limit}{unit}"
    return f"TYPE => THROTTLE, THROTTLE_TYPE => {quota['type']}, LIMIT => {amount}/{time}, SCOPE => {quota['scope']}"


def _size(count: int) -> str:
    """As HBase shows it: 1536 is 1.50K."""
    place = min(max(count.bit_length() - 1, 0) // 10, len(_SIZES) - 1)
    return f"{count / (1 << 10 * place):.2f}{_SIZES[place]}"

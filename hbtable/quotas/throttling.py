"""Chooses the buckets that a call takes from, and has it wait or refuses it when one of them is empty.

HBase's rules: a user's own throttle for the table counts, or else his for its namespace, or else his for everything;
and besides those of the table, of the namespace and of the server, unless the user is exempt from these.

A call whose tokens are there soon waits for them here, in its turn: most clients of Thrift try nothing again. The
others are refused with the time after which it is worth another try, and nothing of them was done.
"""

from typing import Final, NamedTuple, final

from hbtable.access.user import User
from hbtable.errors import Throttled
from hbtable.metrics.registry import Registry
from hbtable.model import names
from hbtable.quotas.bucket import Bucket
from hbtable.quotas.settings import NO_QUOTAS, TIMES, Quotas, SpacePolicy, Subject, ThrottleSetting, ThrottleType
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_MOST_REMEMBERED: Final = 10_000
_REFUSAL_SECONDS: Final = 0.1
"""The time after which a refusal is told."""
_UNIT_BYTES: Final = 1024
"""Of a capacity unit."""
_REFUSALS: Final = {
    ThrottleType.REQUEST_NUMBER: "number of requests exceeded",
    ThrottleType.REQUEST_SIZE: "request size limit exceeded",
    ThrottleType.WRITE_NUMBER: "number of write requests exceeded",
    ThrottleType.WRITE_SIZE: "write size limit exceeded",
    ThrottleType.READ_NUMBER: "number of read requests exceeded",
    ThrottleType.READ_SIZE: "read size limit exceeded",
    ThrottleType.REQUEST_CAPACITY_UNIT: "request capacity unit exceeded",
    ThrottleType.READ_CAPACITY_UNIT: "read capacity unit exceeded",
    ThrottleType.WRITE_CAPACITY_UNIT: "write capacity unit exceeded",
}
"""HBase's words."""
_NUMBERS: Final = (ThrottleType.REQUEST_NUMBER, ThrottleType.READ_NUMBER, ThrottleType.WRITE_NUMBER)
_OF_UNITS: Final = (
    ThrottleType.REQUEST_CAPACITY_UNIT,
    ThrottleType.READ_CAPACITY_UNIT,
    ThrottleType.WRITE_CAPACITY_UNIT,
)
_OF_READS: Final = (ThrottleType.READ_NUMBER, ThrottleType.READ_SIZE, ThrottleType.READ_CAPACITY_UNIT)
_OF_WRITES: Final = (ThrottleType.WRITE_NUMBER, ThrottleType.WRITE_SIZE, ThrottleType.WRITE_CAPACITY_UNIT)


class CallCost(NamedTuple):
    """Rows that a call reads and writes, and bytes."""

    reads: int = 0
    writes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0

    def counts(self, type: ThrottleType) -> int:
        """The tokens that it takes of a throttle of this type."""
        match type:
            case ThrottleType.REQUEST_NUMBER:
                return max(self.reads, self.writes)
            case ThrottleType.REQUEST_SIZE:
                return self.read_bytes + self.written_bytes
            case ThrottleType.READ_NUMBER:
                return self.reads
            case ThrottleType.READ_SIZE:
                return self.read_bytes
            case ThrottleType.WRITE_NUMBER:
                return self.writes
            case ThrottleType.WRITE_SIZE:
                return self.written_bytes
            case ThrottleType.REQUEST_CAPACITY_UNIT:
                return _units(self.read_bytes) + _units(self.written_bytes)
            case ThrottleType.READ_CAPACITY_UNIT:
                return _units(self.read_bytes)
            case ThrottleType.WRITE_CAPACITY_UNIT:
                return _units(self.written_bytes)


@final
class Throttling:
    """`active` is looked at by each call; the rest is for calls while it is true."""

    __slots__ = (
        "_buckets",
        "_longest_wait",
        "_over",
        "_quotas",
        "_refused",
        "_remembered",
        "_runtime",
        "_servers",
        "active",
    )

    def __init__(self, runtime: Runtime, longest_wait_seconds: float, registry: Registry) -> None:
        """`longest_wait_seconds`: the longest that a call waits."""
        self._runtime = runtime
        self._longest_wait = longest_wait_seconds
        self._quotas = NO_QUOTAS
        self._servers = 1
        self._buckets: dict[ThrottleSetting, Bucket] = {}
        self._remembered: dict[tuple[str, bytes], tuple[Bucket, ...]] = {}
        self._refused = registry.counter("hbtable_throttled_calls_total", "Calls that a quota refused.")
        self._over: dict[bytes, SpacePolicy | None] = {}
        """The policies of tables that were asked for: None, the table is within its limit of space."""
        self.active = False
        """Whether any call may be throttled, or refused because of a limit of space."""

    def use(self, quotas: Quotas, servers: int) -> None:
        """Puts the settings in force, in a cluster of so many tablet servers. A throttle that stays keeps its count.
        Does not switch."""
        now = self._runtime.clock_seconds()
        before = self._buckets
        self._quotas, self._servers = quotas, servers
        settings = quotas.throttles if quotas.throttling else ()
        self._buckets = {one: before.get(one) or Bucket(one, servers, now) for one in settings}
        for bucket in self._buckets.values():
            bucket.share(servers)
        self._remembered = {}
        self.active = bool(settings) or any(one.violated for one in quotas.space)
        self._over = {}

    def buckets(self, user: User | None, table: bytes) -> tuple[Bucket, ...]:
        """The buckets from which a call of this user for this table takes."""
        name = "" if user is None else user.name
        key = name, table
        known = self._remembered.get(key)
        if known is None:
            known = tuple(self._buckets[one] for one in self._throttles(name, table))
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = known
        return known

    def _throttles(self, user: str, table: bytes) -> list[ThrottleSetting]:
        if not self._quotas.throttling:
            return []
        namespace = names.split(table)[0]
        of = self._quotas.by_subject
        found: list[ThrottleSetting] = []
        if user:
            own = Subject(user, b"", table), Subject(user, namespace), Subject(user)
            found += next((of[one] for one in own if one in of), ())
        if user not in self._quotas.exempt:
            for subject in (Subject("", b"", table), Subject("", namespace), Subject()):
                found += of.get(subject, ())
        return found

    def policy(self, table: bytes) -> SpacePolicy | None:
        """The policy of a table that holds more than its limit of space; None: it does not."""
        if table not in self._over:
            limit = self._quotas.space_limit(table)
            if len(self._over) >= _MOST_REMEMBERED:
                self._over.clear()
            self._over[table] = limit.policy if limit is not None and limit.violated else None
        return self._over[table]

    def may_compact(self, table: bytes) -> bool:
        """Whether tablets of the table may be compacted, but for flushes."""
        return self.policy(table) is not SpacePolicy.NO_WRITES_COMPACTIONS

    @switches
    def admit(self, buckets: tuple[Bucket, ...], cost: CallCost) -> None:
        """Takes what is known of the work before it is done, and returns when it may be done. Throttled when that
        would take too long: nothing was taken. That is told a moment later, or a client that tries again at once
        would cost the others more with a quota than without."""
        now = self._runtime.clock_seconds()
        wait, last = 0.0, None
        for bucket in buckets:
            if _concerns(bucket.throttle.type, cost) and bucket.wait_seconds(now) > wait:
                wait, last = bucket.wait_seconds(now), bucket
        if last is not None and wait > self._longest_wait:
            self._refused.value += 1
            self._runtime.sleep(_REFUSAL_SECONDS)
            raise _refusal(last)
        # Taken before the wait: whoever comes meanwhile waits for the tokens after these, and each wakes up once.
        self.count(buckets, cost)
        if wait > 0:
            self._runtime.sleep(wait)

    def count(self, buckets: tuple[Bucket, ...], cost: CallCost) -> None:
        """Takes the tokens that the work needs."""
        now = self._runtime.clock_seconds()
        for bucket in buckets:
            tokens = cost.counts(bucket.throttle.type)
            if tokens:
                bucket.take(tokens, now)


def _refusal(bucket: Bucket) -> Throttled:
    """HBase's words, which its clients read the wait from, and behind them whose quota it is."""
    setting = bucket.throttle
    unit = "req" if setting.type in _NUMBERS else "CU" if setting.type in _OF_UNITS else "B"
    return Throttled(
        f"{_REFUSALS[setting.type]} - wait {shown_wait(bucket.told_wait_millis())}; the quota of {setting.subject} is "
        f"{setting.limit}{unit}/{TIMES[setting.seconds]}: send less, or have it raised (list_quotas shows all)"
    )


def counts_bytes(buckets: tuple[Bucket, ...]) -> bool:
    """Whether it matters how many bytes are read and written."""
    return any(one.throttle.type not in _NUMBERS for one in buckets)


def _concerns(type: ThrottleType, cost: CallCost) -> bool:
    return cost.reads > 0 if type in _OF_READS else cost.writes > 0 if type in _OF_WRITES else True


def _units(size: int) -> int:
    return -(-size // _UNIT_BYTES)


def shown_wait(millis: int) -> str:
    """The wait as HBase's clients read it:  `1hr, 2mins, 3sec, 4ms`."""
    parts: list[str] = []
    for length, word, words in ((3_600_000, "hr", "hrs"), (60_000, "min", "mins"), (1000, "sec", "sec")):
        count, millis = divmod(millis, length)
        if count:
            parts.append(f"{count}{words if count > 1 else word}")
    return ", ".join([*parts, f"{millis}ms"])

"""Quotas as operators set them, by HBase's terms. A Quotas object never changes: a change makes another one."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cached_property
from typing import Final, NamedTuple, final

from hbtable.access.user import check_name
from hbtable.errors import InvalidRequest, LimitExceeded
from hbtable.model import names
from hbtable.model.names import shown
from hbtable.model.values import check_bytes, check_flag, whole_number

LARGEST_LIMIT: Final = (1 << 63) - 1
TIMES: Final = {1: "sec", 60: "min", 3600: "hour", 86400: "day"}
"""The seconds for which a limit may be, and HBase's word for each."""
_MOST: Final = 10_000
_MOST_ON_TABLES: Final = 8_000
"""Set by those who administer a table; the rest is for those who administer everything."""
_MOST_ON_ONE_TABLE: Final = 300
"""Throttles, exemptions and limits of space together: each tablet server has them all in its memory."""


class ThrottleType(IntEnum):
    """The kinds of counting; the names are HBase's, in the order in which it lists them. The numbers are stored."""

    REQUEST_NUMBER = 1
    REQUEST_SIZE = 2
    WRITE_NUMBER = 3
    WRITE_SIZE = 4
    READ_NUMBER = 5
    READ_SIZE = 6
    REQUEST_CAPACITY_UNIT = 7
    READ_CAPACITY_UNIT = 8
    WRITE_CAPACITY_UNIT = 9


class Subject(NamedTuple):
    """The calls that a throttle counts together: a user's, those for a table or a namespace, a user's for one of these.
    With nothing named: all calls that a tablet server gets."""

    user: str = ""
    namespace: bytes = b""
    table: bytes = b""
    """Its canonical name."""

    def checked(self) -> "Subject":
        """The subject with its table's name as it is looked up. InvalidRequest. Neither user nor table need exist."""
        if self.user != "":
            check_name(self.user)
        check_bytes("the namespace", self.namespace)
        check_bytes("the table", self.table)
        if self.namespace and self.table:
            raise InvalidRequest("a quota is on a table or on a namespace, not on both: set two")
        if self.namespace:
            names.check_namespace(self.namespace)
        return self._replace(table=names.parse(self.table)) if self.table else self

    def order(self) -> tuple[int, str, bytes, bytes]:
        """HBase lists namespaces first, then servers, tables, users."""
        if self.user:
            return 3, *self
        return (0 if self.namespace else 2 if self.table else 1), *self

    def __str__(self) -> str:
        parts = [f"user {self.user}"] if self.user else []
        parts += [f"namespace {shown(self.namespace)}"] if self.namespace else []
        parts += [f"table {shown(self.table)}"] if self.table else []
        return " on ".join(parts) or "every tablet server"


class ThrottleSetting(NamedTuple):
    """At most `limit` of what `type` counts, in so many seconds."""

    subject: Subject
    type: ThrottleType
    limit: int
    seconds: int
    cluster: bool = False
    """All tablet servers share the limit, each has the same part; otherwise each has all of it."""


class SpacePolicy(IntEnum):
    """The consequence for a table that is larger than its limit; the names are HBase's. The numbers are stored."""

    NO_INSERTS = 1
    NO_WRITES = 2
    NO_WRITES_COMPACTIONS = 3
    DISABLE = 4


class SpaceLimit(NamedTuple):
    """The most bytes that the files of a table, or of a namespace's tables together, may have."""

    namespace: bytes
    table: bytes
    limit: int
    policy: SpacePolicy
    violated: bool = False
    """By the last measurement."""


@final
class Quotas:
    """Everything that is set."""

    def __init__(
        self,
        throttles: Iterable[ThrottleSetting] = (),
        exempt: Iterable[str] = (),
        throttling: bool = True,
        space: Iterable[SpaceLimit] = (),
        disabled: Iterable[bytes] = (),
    ) -> None:
        """`exempt`: users whose calls count for no table's, namespace's or server's throttle (HBase's GLOBAL_BYPASS).
        `throttling`: off, no call is throttled. `disabled`: tables that are disabled because of their limit."""
        self.throttles = tuple(sorted(throttles, key=_order))
        self.exempt = frozenset(exempt)
        self.throttling = throttling
        self.space = tuple(sorted(space))
        self.disabled = frozenset(disabled)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quotas) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[object, ...]:
        return self.throttles, self.exempt, self.throttling, self.space, self.disabled

    @cached_property
    def by_subject(self) -> dict[Subject, tuple[ThrottleSetting, ...]]:
        """The throttles of each subject that has some."""
        found: dict[Subject, tuple[ThrottleSetting, ...]] = {}
        for one in self.throttles:
            found[one.subject] = (*found.get(one.subject, ()), one)
        return found

    def with_throttle(self, throttle: ThrottleSetting) -> "Quotas":
        """The settings with this throttle in the place of the one of the same subject and type. InvalidRequest,
        LimitExceeded."""
        _check(throttle)
        others = [one for one in self.throttles if (one.subject, one.type) != (throttle.subject, throttle.type)]
        changed = self._with([*others, throttle], self.exempt)
        changed._check_tables(self, throttle.subject.table)
        return changed

    def without_throttle(self, subject: Subject, type: ThrottleType | None) -> "Quotas":
        """None: of no type."""
        left = [one for one in self.throttles if one.subject != subject or type not in (None, one.type)]
        return self._with(left, self.exempt)

    def with_exemption(self, user: str, exempt: bool) -> "Quotas":
        """InvalidRequest, LimitExceeded."""
        check_name(user)
        return self._with(self.throttles, self.exempt | {user} if exempt else self.exempt - {user})

    def with_throttling(self, throttling: bool) -> "Quotas":
        """Whether anything is throttled."""
        return Quotas(self.throttles, self.exempt, throttling, self.space, self.disabled)

    # ---------------------------------------------------------------- space

    def with_space_limit(self, limit: SpaceLimit) -> "Quotas":
        """The settings with this limit in the place of the one of the same table or namespace. InvalidRequest,
        LimitExceeded."""
        _check_space(limit)
        space = [*self._space_without(limit.namespace, limit.table), limit]
        changed = self._with(self.throttles, self.exempt, space)
        changed._check_tables(self, limit.table)
        return changed

    def without_space_limit(self, namespace: bytes, table: bytes) -> "Quotas":
        return self._with(self.throttles, self.exempt, self._space_without(namespace, table))

    def _space_without(self, namespace: bytes, table: bytes) -> list[SpaceLimit]:
        return [one for one in self.space if (one.namespace, one.table) != (namespace, table)]

    def space_limit(self, table: bytes) -> SpaceLimit | None:
        """The table's own limit of space, or else its namespace's."""
        found = self._space_limits
        return found.get((b"", table)) or found.get((names.split(table)[0], b""))

    @cached_property
    def _space_limits(self) -> dict[tuple[bytes, bytes], SpaceLimit]:
        return {(one.namespace, one.table): one for one in self.space}

    def measured(self, sizes: Mapping[bytes, int], unknown: Iterable[bytes] | None = ()) -> "Quotas":
        """The settings with what the sizes of all tables mean for the limits; those of disabled ones count as any.
        `unknown`: tables that have this size at least; None: so have all, and there may be more."""
        kept: set[SpaceLimit] = set()
        for name in unknown or ():
            both = (b"", name), (names.split(name)[0], b"")
            kept.update(one for one in self.space if one.violated and (one.namespace, one.table) in both)
        totals: dict[tuple[bytes, bytes], int] = {}
        for table, size in sizes.items():
            namespace = names.split(table)[0]
            totals[b"", table] = size
            totals[namespace, b""] = totals.get((namespace, b""), 0) + size
        space = []
        for one in self.space:
            over = totals.get((one.namespace, one.table), 0) > one.limit
            space.append(one._replace(violated=over or one in kept or (one.violated and unknown is None)))
        return self._with(self.throttles, self.exempt, space)

    def with_disabled(self, table: bytes, disabled: bool) -> "Quotas":
        tables = self.disabled | {table} if disabled else self.disabled - {table}
        return Quotas(self.throttles, self.exempt, self.throttling, self.space, tables)

    # ---------------------------------------------------------------- what ends

    def without(self, namespace: bytes = b"", table: bytes = b"") -> "Quotas":
        """The settings without those of a table or a namespace that is gone; users' throttles on it go, too."""
        gone = namespace, table
        left = [one for one in self.throttles if one.subject[1:] != gone]
        return self._with(left, self.exempt, self._space_without(*gone)).with_disabled(table, False)

    def _with(
        self, throttles: Iterable[ThrottleSetting], exempt: Iterable[str], space: Iterable[SpaceLimit] | None = None
    ) -> "Quotas":
        space = self.space if space is None else space
        changed = Quotas(throttles, exempt, self.throttling, space, self.disabled)
        count = changed._count()
        if count > max(_MOST, self._count()):
            raise LimitExceeded(f"there would be {count} quotas, and {_MOST} is the most: set some on namespaces")
        return changed

    def _check_tables(self, before: "Quotas", table: bytes) -> None:
        """Nobody's quotas on his tables take the room of others'."""
        if not table:
            return
        of_one, of_all = self._on_tables(table), self._on_tables()
        if of_one > max(_MOST_ON_ONE_TABLE, before._on_tables(table)):
            raise LimitExceeded(
                f"there would be {of_one} quotas on table {shown(table)}, and {_MOST_ON_ONE_TABLE} is the most: set "
                "some on the table instead of users on it"
            )
        if of_all > max(_MOST_ON_TABLES, before._on_tables()):
            raise LimitExceeded(
                f"there would be {of_all} quotas on tables, and {_MOST_ON_TABLES} is the most: set some on namespaces"
            )

    def _on_tables(self, table: bytes = b"") -> int:
        """The number of those on this table, or on any."""
        named = [one.subject.table for one in self.throttles] + [one.table for one in self.space]
        return sum(name == table if table else bool(name) for name in named)

    def _count(self) -> int:
        return len(self.throttles) + len(self.exempt) + len(self.space)


def _order(throttle: ThrottleSetting) -> tuple[object, ...]:
    return *throttle.subject.order(), throttle.type


def _check(throttle: ThrottleSetting) -> None:
    throttle.subject.checked()
    whole_number("the limit of a quota", throttle.limit, 1, LARGEST_LIMIT)
    check_flag("cluster", throttle.cluster)
    if whole_number("the seconds of a quota", throttle.seconds, 1, max(TIMES)) not in TIMES:
        allowed = ", ".join(f"{seconds} ({word})" for seconds, word in TIMES.items())
        raise InvalidRequest(f"a quota is for one of these numbers of seconds: {allowed}; not for {throttle.seconds}")
    if throttle.cluster and not any(throttle.subject):
        raise InvalidRequest("a quota on every tablet server is not shared by them: its scope is MACHINE")


def _check_space(space: SpaceLimit) -> None:
    subject = Subject("", space.namespace, space.table)
    subject.checked()
    if not any(subject):
        raise InvalidRequest("a limit of space is on a table or on a namespace: name one")
    if space.namespace == names.SYSTEM_NAMESPACE or names.is_system(subject.checked().table):
        raise InvalidRequest(
            "tables of the namespace hbase are not measured, so that a limit of space would limit nothing: set one on "
            "another table or namespace"
        )
    whole_number("the limit of a quota", space.limit, 1, LARGEST_LIMIT)


NO_QUOTAS: Final = Quotas()

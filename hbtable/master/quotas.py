"""Quotas as operators set and list them; what is set holds on every tablet server (quotas.quotas_file)."""

from typing import Final, final

from hbtable.errors import InvalidRequest
from hbtable.lockservice.interface import Session
from hbtable.model.names import shown
from hbtable.model.values import check_flag, check_text, whole_number
from hbtable.quotas.quotas_file import quotas_file
from hbtable.quotas.settings import LARGEST_LIMIT, SpaceLimit, SpacePolicy, Subject, ThrottleSetting, ThrottleType
from hbtable.switches import switches

_MOST_ROOM: Final = 1000


@final
class QuotaSettings:
    """Carries out the calls of rpc.services.MasterService that are about quotas."""

    def __init__(self, session: Session) -> None:
        self._file = quotas_file(session)

    @switches
    def set_throttle(
        self, subject: Subject, every_server: bool, throttle_type: str, limit: int, seconds: int, cluster: bool
    ) -> None:
        """Durable on return. InvalidRequest, LimitExceeded."""
        subject = _checked(subject, every_server)
        limit = whole_number("the limit of a quota", limit, 0, LARGEST_LIMIT)
        check_text("the type of a throttle", throttle_type, _MOST_ROOM)
        kind = _type(throttle_type) if throttle_type or limit else None
        if not limit:
            self._file.change(lambda quotas: quotas.without_throttle(subject, kind))
        elif kind is not None:
            throttle = ThrottleSetting(subject, kind, limit, seconds, cluster)
            self._file.change(lambda quotas: quotas.with_throttle(throttle))

    @switches
    def set_space_limit(self, namespace: bytes, table: bytes, limit: int, policy: str) -> None:
        """Durable on return. InvalidRequest, LimitExceeded."""
        _, namespace, table = Subject("", namespace, table).checked()
        limit = whole_number("the limit of a quota", limit, 0, LARGEST_LIMIT)
        if limit:
            space = SpaceLimit(namespace, table, limit, _policy(policy))
            self._file.change(lambda quotas: quotas.with_space_limit(space))
        else:
            self._file.change(lambda quotas: quotas.without_space_limit(namespace, table))

    @switches
    def set_exemption(self, user: str, exempt: bool) -> None:
        """Durable on return. InvalidRequest, LimitExceeded."""
        check_flag("exempt", exempt)
        self._file.change(lambda quotas: quotas.with_exemption(user, exempt))

    @switches
    def set_throttling(self, on: bool) -> bool:
        """Whether throttles were in force before."""
        check_flag("on", on)
        return self._file.change(lambda quotas: quotas.with_throttling(on)).before.throttling

    @switches
    def throttling(self) -> bool:
        return self._file.read().throttling

    @switches
    def listed(self) -> list[dict[str, str]]:
        """All quotas, in HBase's order: namespaces, servers, tables, users."""
        quotas = self._file.read()
        found = [(one.subject.order(), _named(one.subject) | _set(one)) for one in quotas.throttles]
        found += [(_subject(one).order(), _named(_subject(one)) | _space(one)) for one in quotas.space]
        found += [(Subject(user).order(), {"user": user, "exempt": "true"}) for user in quotas.exempt]
        return [words for _, words in sorted(found, key=lambda pair: pair[0])]


def _checked(subject: Subject, every_server: bool) -> Subject:
    check_flag("every_server", every_server)
    subject = subject.checked()
    if every_server and any(subject):
        raise InvalidRequest(f"a quota is on {subject} or on every tablet server, not on both: set two")
    if not every_server and not any(subject):
        raise InvalidRequest("a quota is on a user, a table or a namespace, or on every tablet server: name one")
    return subject


def _policy(name: str) -> SpacePolicy:
    check_text("the policy of a limit of space", name, _MOST_ROOM)
    try:
        return SpacePolicy[name]
    except KeyError:
        known = ", ".join(SpacePolicy.__members__)
        raise InvalidRequest(f"{name!r} is no policy of a limit of space; there are {known}") from None


def _subject(space: SpaceLimit) -> Subject:
    return Subject("", space.namespace, space.table)


def _space(space: SpaceLimit) -> dict[str, str]:
    return {"space": str(space.limit), "policy": space.policy.name, "violated": str(space.violated).lower()}


def _type(name: str) -> ThrottleType:
    try:
        return ThrottleType[name]
    except KeyError:
        known = ", ".join(ThrottleType.__members__)
        raise InvalidRequest(f"{name!r} is no type of throttle; there are {known}") from None


def _named(subject: Subject) -> dict[str, str]:
    words = {"user": subject.user, "namespace": shown(subject.namespace), "table": shown(subject.table)}
    return {word: name for word, name in words.items() if name}


def _set(throttle: ThrottleSetting) -> dict[str, str]:
    return {
        "type": throttle.type.name,
        "limit": str(throttle.limit),
        "seconds": str(throttle.seconds),
        "scope": "CLUSTER" if throttle.cluster else "MACHINE",
    }

"""The list of formats that a cluster's data uses and older hbtables do not know: `features` in /cluster.

    {"id": ..., "format": 2, "log_kind": ..., "features": ["one", "two"]}

A cluster begins with format 1 and without a list. Whoever is about to write something that an older hbtable cannot
read, and would take for something else, calls require() first: the name is in the list, durably, before the first byte.
Format 2 says that there is a list; an hbtable from before there were any refuses it. A role, and `hbtable check`, call
check() before they read anything else, and name what they do not know.

To add a format: give it a name in FEATURES, call require() where it is first used, and mention it in docs/formats.md.
Names are never removed, and never mean anything else. A feature is not needed where the bytes say all: a sealed record
of a newer version is refused by name when it is read. It is needed where an old hbtable would go wrong without a word.
"""

import json
import logging
from collections.abc import Collection
from typing import Any, Final

from hbtable.errors import Conflict, Corruption, FileNotFound, Unavailable, UnsupportedFormat
from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import CLUSTER
from hbtable.switches import switches

log = logging.getLogger(__name__)

FORMAT: Final = 1
LISTED: Final = 2
"""The format of a /cluster that has a list of features."""
_LOG_KINDS: Final = (LOCAL, HDFS, WEBHDFS)
FAMILY_IDENTITIES: Final = "family-identities"
FEATURES: Final[dict[str, str]] = {
    FAMILY_IDENTITIES: "families that were added to a table: their cells stand under the schema version that did",
}
"""Name -> what is written once it is in the list."""


def read_cluster(data: bytes) -> dict[str, Any]:
    """Decodes the content of /cluster. Corruption, UnsupportedFormat."""
    try:
        cluster = json.loads(data)
        number = int(cluster["format"])
        used = [str(name) for name in cluster.get("features", [])]
        str(cluster["id"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corruption(CLUSTER, 0, f"not what a cluster says of itself: {error}") from error
    if number > LISTED:
        raise UnsupportedFormat(
            f"{CLUSTER} has format {number} and was written by a newer hbtable; this one reads up to {LISTED}: use the "
            "newer one"
        )
    if cluster.get("log_kind", LOCAL) not in _LOG_KINDS:
        raise UnsupportedFormat.unknown(CLUSTER, "kind of log", cluster["log_kind"], ", ".join(_LOG_KINDS))
    check_known(CLUSTER, used)
    return {**cluster, "features": used}


def check_known(path: str, used: Collection[str]) -> None:
    """UnsupportedFormat, with their names, when these are features that this hbtable does not know."""
    unknown = sorted(set(used) - FEATURES.keys())
    if unknown:
        raise UnsupportedFormat(
            f"{path} says that its data was written by a newer hbtable, with {', '.join(unknown)}; this one knows "
            f"{', '.join(sorted(FEATURES)) or 'no feature'}: use the newer one"
        )


@switches
def check(session: Session) -> None:
    """Refuses a cluster that uses features unknown to this program. To be called before anything else is read.
    UnsupportedFormat; fine when there is no cluster yet."""
    try:
        read_cluster(session.read(CLUSTER).data)
    except FileNotFound:
        return


@switches
def require(session: Session, feature: str) -> None:
    """Adds `feature` to the list of the cluster, durably on return. To be called before the first byte of the feature
    is written. One call of the lock service once it is. Unavailable: nothing may be written yet."""
    check_known("this program", [feature])
    while True:
        try:
            file = session.read(CLUSTER)
        except FileNotFound as error:
            raise Unavailable(f"the cluster is not made yet, so nothing can use {feature}; try again") from error
        cluster = read_cluster(file.data)
        if feature in cluster["features"]:
            return
        raised = {**cluster, "format": LISTED, "features": sorted([*cluster["features"], feature])}
        try:
            session.write(CLUSTER, json.dumps(raised).encode(), file.version)
        except Conflict:
            continue  # somebody else raised it at the same moment
        log.info("the cluster's data uses %s from now on; an hbtable that does not know it refuses it", feature)
        return

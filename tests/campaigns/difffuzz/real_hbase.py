"""HBase: `compat-tests/servers/real-hbase admin` does what Thrift1 has no call for (HBaseAdmin.java has the words)."""

import subprocess
from collections.abc import Sequence
from typing import Any

from tests.campaigns.difffuzz.alphabet import FOREVER, LONG_MAX
from tests.campaigns.difffuzz.sides import REPOSITORY, Broken, Family, Side, raw

STARTER = REPOSITORY / "compat-tests" / "servers" / "real-hbase"
SITE = REPOSITORY / "tests" / "campaigns" / "difffuzz" / "hbase-site"
"""No compaction by itself and few retries: otherwise answers are luck, or come after minutes."""

Cell = tuple[str, str, str, int, int, str]
"""(row, family, qualifier, timestamp, type, value)."""


def _hex(text: str) -> str:
    return raw(text).hex() or "-"


def _text(word: str) -> str:
    return "" if word == "-" else bytes.fromhex(word).decode("latin-1")


def _family(family: Family) -> str:
    words = (
        _hex(family["name"]),
        family.get("versions", 1),
        family.get("min", 0),
        family.get("ttl", FOREVER),
        family.get("bloom", "NONE"),
        family.get("compression", "NONE"),
        int(family.get("memory", False)),
        int(family.get("newVersions", False)),
        family.get("keepDeleted", "FALSE"),
    )
    return ",".join(map(str, words))


def _answered(answer: dict[str, Any]) -> dict[str, Any]:
    """Broken: HBase did not answer, which says nothing of hbtable."""
    kind = answer.get("err", {}).get("type")
    if kind in ("connection-closed", "connection-refused", "protocol-error"):
        raise Broken(f"HBase does not answer: {kind}, {answer['err'].get('first_line')}")
    return answer


class RealHBase(Side):
    """One that real-hbase started on this port."""

    def __init__(self, port: int) -> None:
        super().__init__("127.0.0.1", port)
        command = [str(STARTER), "admin", str(port)]
        self._admin = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._admin.stdout is not None
        if self._admin.stdout.readline().strip() != "ready":
            raise SystemExit(f"HBaseAdmin.java does not start; admin.log in the folder of {STARTER} says why")

    def call(self, method: str, arguments: dict[str, Any], handles: dict[int, Any]) -> dict[str, Any]:
        return _answered(super().call(method, arguments, handles))

    def call_together(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [_answered(answer) for answer in super().call_together(calls)]

    def tell(self, *words: object) -> str:
        """What the answer says after `ok`."""
        assert self._admin.stdin is not None
        assert self._admin.stdout is not None
        self._admin.stdin.write(" ".join(map(str, words)) + "\n")
        self._admin.stdin.flush()
        answer = self._admin.stdout.readline().strip()
        if not answer.startswith("ok"):
            raise Broken(f"HBase {words[0]}: {answer}")
        return answer[3:]

    def create(self, name: str, families: list[Family], splits: Sequence[str]) -> None:
        self.tell("create", name, ";".join(map(_family, families)), *map(_hex, splits))

    def created(self) -> None:
        self.tell("created")

    def drop(self, names: list[str]) -> None:
        self.tell("drop", *names)

    def flush(self, name: str) -> None:
        self.tell("flush", name)

    def major(self, name: str) -> None:
        self.tell("major", name)

    def split(self, name: str, row: str) -> None:
        self.tell("split", name, _hex(row))

    def truncate(self, name: str, keep: bool) -> None:
        self.tell("truncate", name, int(keep))

    def add(self, name: str, family: Family) -> None:
        self.tell("add", name, _family(family))

    def modify(self, name: str, family: Family) -> None:
        self.tell("modify", name, _family(family))

    def remove(self, name: str, family: str) -> None:
        self.tell("remove", name, _hex(family))

    def delete(self, name: str, row: str, kind: str, family: str, qualifier: str, timestamp: int) -> None:
        self.tell("delete", name, _hex(row), kind, _hex(family), _hex(qualifier), timestamp)

    def dump(self, name: str, before: int = LONG_MAX) -> list[Cell]:
        """Every cell that a scan of all versions sees below that time, in order."""
        cells = []
        for word in self.tell("dump", name, before).split():
            row, family, qualifier, timestamp, kind, value = word.split(",")
            cells.append((_text(row), _text(family), _text(qualifier), int(timestamp), int(kind), _text(value)))
        return cells

    def close(self) -> None:
        super().close()
        assert self._admin.stdin is not None
        assert self._admin.stdout is not None
        self._admin.stdin.close()
        self._admin.wait()
        self._admin.stdout.close()

"""What the servers of an HDFS say of themselves and of one another (Hadoop's JMX servlet)."""

import json
import urllib.request
from http.client import HTTPException
from typing import Final

_ASK_SECONDS: Final = 10.0
_HEARD_SECONDS: Final = 2
"""DataNodes ask the NameNode every second."""


class HdfsHealth:
    """Of an HDFS as compat-tests/servers/real-hdfs starts it on `port`."""

    def __init__(self, port: int, datanodes: int) -> None:
        self._port = port
        self._datanodes = datanodes

    def all_answer(self) -> bool:
        known = self._bean(self._port + 1, "NameNode", "FSNamesystemState")
        return (
            known.get("NumLiveDataNodes") == self._datanodes
            and known.get("NumStaleDataNodes") == 0
            and known.get("NumStaleStorages") == 0
            and all(self.datanode_answers(number) for number in range(1, self._datanodes + 1))
        )

    def datanode_answers(self, number: int) -> bool:
        found = self._bean(self._port + 10 * number + 2, "DataNode", "DataNodeInfo")
        actors = json.loads(str(found.get("BPServiceActorInfo") or "[]"))
        return any(
            actor["ActorState"] == "RUNNING" and int(actor["LastHeartbeatResponseTime"]) <= _HEARD_SECONDS
            for actor in actors
        )

    def is_writable(self) -> bool:
        return self._namenode_says().get("Safemode") == ""

    def namenode_answers(self) -> bool:
        return bool(self._namenode_says())

    def _namenode_says(self) -> dict[str, object]:
        return self._bean(self._port + 1, "NameNode", "NameNodeInfo")

    def _bean(self, port: int, service: str, name: str) -> dict[str, object]:
        """What a server says of itself; nothing while it starts."""
        url = f"http://localhost:{port}/jmx?qry=Hadoop:service={service},name={name}"
        try:
            with urllib.request.urlopen(url, timeout=_ASK_SECONDS) as answer:
                beans: list[dict[str, object]] = json.loads(answer.read())["beans"]
        except (OSError, HTTPException, ValueError):
            return {}
        return beans[0] if beans else {}

"""The two servers: the same calls on both, tables that both make alike, and what Thrift1 has no call for.

An answer is {"ok": ...} or {"err": {...}}, as compat-tests/recorded/replay.py has it."""

import abc
import importlib.util
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]


def _load_replay() -> Any:
    """The client and the normal forms of the recorded answers, kept as they were handed out."""
    path = REPOSITORY / "compat-tests" / "recorded" / "replay.py"
    spec = importlib.util.spec_from_file_location("recorded_replay", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


replay = _load_replay()
Family = dict[str, Any]


class Broken(Exception):
    """An administrative step did not work: nothing can be compared."""


def raw(text: str) -> bytes:
    return text.encode("latin-1")


class Side(abc.ABC):
    """One server with a client of Thrift1, and further ones for calls at once."""

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self.client = replay.Client(host, port, timeout_s=60)
        self._others: list[Any] = []

    def call(self, method: str, arguments: dict[str, Any], handles: dict[int, Any]) -> dict[str, Any]:
        return self._call(self.client, method, arguments, handles)

    @staticmethod
    def _call(client: Any, method: str, arguments: dict[str, Any], handles: dict[int, Any]) -> dict[str, Any]:
        try:
            return client.call(method, arguments, handles)
        except replay.NoHandle:
            return {"skip": True}

    def call_together(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Each by a client of its own, all at once; the answers in the order of the calls."""
        while len(self._others) < len(calls):
            self._others.append(replay.Client(*self.address, timeout_s=60))
        answers: list[dict[str, Any]] = [{}] * len(calls)
        begin = threading.Barrier(len(calls))

        def one(number: int) -> None:
            begin.wait()
            call = calls[number]
            answers[number] = self._call(self._others[number], call["m"], call["a"], {})

        threads = [threading.Thread(target=one, args=(number,)) for number in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for client in self._others:
            client.close()  # HBase drops connections that are idle for a minute
        return answers

    def close(self) -> None:
        for client in [self.client, *self._others]:
            client.close()

    @abc.abstractmethod
    def create(self, name: str, families: list[Family], splits: Sequence[str]) -> None:
        """It may be made after the return; created() waits for all."""

    def created(self) -> None:  # noqa: B027 -- most have nothing to wait for
        """On return all tables are there."""

    @abc.abstractmethod
    def drop(self, names: list[str]) -> None: ...

    @abc.abstractmethod
    def flush(self, name: str) -> None: ...

    @abc.abstractmethod
    def major(self, name: str) -> None:
        """A flush and a major compaction, over on return."""

    @abc.abstractmethod
    def split(self, name: str, row: str) -> None: ...

    @abc.abstractmethod
    def truncate(self, name: str, keep: bool) -> None: ...

    @abc.abstractmethod
    def add(self, name: str, family: Family) -> None: ...

    @abc.abstractmethod
    def modify(self, name: str, family: Family) -> None: ...

    @abc.abstractmethod
    def remove(self, name: str, family: str) -> None: ...

    @abc.abstractmethod
    def delete(self, name: str, row: str, kind: str, family: str, qualifier: str, timestamp: int) -> None:
        """`kind`: version or family-version; timestamp -1: the newest."""

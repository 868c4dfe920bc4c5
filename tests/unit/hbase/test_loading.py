"""What only some clients need is loaded by a thread, once."""

from collections.abc import Callable
from typing import Any

import pytest


def test_a_module_is_loaded_once_and_by_a_thread(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[str] = []

    def offload(kind: str, function: Callable[..., object], *arguments: object) -> object:
        kinds.append(kind)
        return function(*arguments)

    monkeypatch.setattr(gateway.runtime, "offload", offload)
    assert gateway.context.load("hbtable.hbase.transports.http").HttpStream
    assert gateway.context.load("hbtable.hbase.transports.http").HttpStream
    assert kinds == ["loading"]

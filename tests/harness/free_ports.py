"""Ports of loopback for servers that are started, killed and started again."""

import os
import random
import socket


def free_ports(count: int) -> int:
    """The first of `count` ports in a row that are free on loopback now, outside the range of outgoing connections.

    Tests beside this one look for theirs in other ranges: between a look at a port and its use nobody takes it."""
    beside = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % beside
    width = 12000 // beside
    start = 20000 + number * width
    for _ in range(200):
        first = random.randrange(start, start + width - count)
        if all(_is_free(first + offset) for offset in range(count)):
            return first
    raise AssertionError(f"there are no {count} free ports in a row on loopback")


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

"""What tests ask worker processes to do."""

import os
import signal
from collections.abc import Sequence


def echo(parts: Sequence[bytes]) -> Sequence[bytes]:
    return parts


def process(parts: Sequence[bytes]) -> list[bytes]:
    """Its id and how nice it is."""
    return [str(os.getpid()).encode(), str(os.nice(0)).encode()]


def spin(parts: Sequence[bytes]) -> list[bytes]:
    while True:
        pass


def eat(parts: Sequence[bytes]) -> list[bytes]:
    taken = []
    while True:
        taken.append(bytes(64 << 20))


def fail(parts: Sequence[bytes]) -> list[bytes]:
    raise ValueError(f"no use for {parts}")


def crash(parts: Sequence[bytes]) -> list[bytes]:
    os.kill(os.getpid(), signal.SIGSEGV)
    return []


def talk(parts: Sequence[bytes]) -> list[bytes]:
    print("a library says something")
    return [b"said"]

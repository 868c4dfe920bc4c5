"""What tests ask worker processes to do."""

import os
import signal
import time
from collections.abc import Sequence

from hbtable.runtime.interface import Ask


def echo(parts: Sequence[bytes]) -> Sequence[bytes]:
    return parts


def process(parts: Sequence[bytes]) -> list[bytes]:
    """Its id and how nice it is."""
    return [str(os.getpid()).encode(), str(os.nice(0)).encode()]


def spin(parts: Sequence[bytes]) -> list[bytes]:
    while True:
        pass


def wait_while_there(parts: Sequence[bytes]) -> list[bytes]:
    while os.path.exists(parts[0]):
        time.sleep(0.01)
    return []


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


def ask_thrice(parts: Sequence[bytes], ask: Ask) -> list[bytes]:
    """What is answered to 0, 1 and 2, behind its own id."""
    return [str(os.getpid()).encode(), *(ask([str(number).encode(), *parts])[0] for number in range(3))]


def ask_and_fail(parts: Sequence[bytes], ask: Ask) -> list[bytes]:
    ask(parts)
    raise ValueError(f"no use for {parts}")


def ask_and_crash(parts: Sequence[bytes], ask: Ask) -> list[bytes]:
    ask(parts)
    return crash(parts)


def ask_and_sleep(parts: Sequence[bytes], ask: Ask) -> list[bytes]:
    ask(parts)
    signal.pause()
    return []


def ask_and_eat(parts: Sequence[bytes], ask: Ask) -> list[bytes]:
    ask(parts)
    return eat(parts)

"""What is sealed comes back with its key for its scan, and to nobody else; all servers have one key."""

import random

import pytest

from hbtable.access.position_key import PositionKey, encode
from hbtable.access.position_seal import PositionSeal
from hbtable.errors import Corruption
from hbtable.lockservice.paths import POSITIONS
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_what_is_sealed_comes_back_and_shows_nothing() -> None:
    chance = random.Random(7)
    seal, other = PositionSeal(bytes(range(32))), PositionSeal(bytes(32))
    for size in [*range(140), 1000, 32_767]:
        position = chance.randbytes(size)
        sealed = seal.seal(position, b"scan")
        assert seal.opened(sealed, b"scan") == position
        assert size < 8 or position not in sealed
        assert len(sealed) == 48 + max(
            128, 1 << (size + (1 if size < 128 else 2 if size < 16_384 else 3) - 1).bit_length()
        )
        assert seal.opened(sealed, b"sca") is None
        assert other.opened(sealed, b"scan") is None
    assert seal.seal(b"row", b"") != seal.seal(b"row", b"")


def test_every_changed_byte_is_seen() -> None:
    seal = PositionSeal(bytes(range(32)))
    sealed = seal.seal(b"row", b"scan")
    for place in range(len(sealed)):
        assert seal.opened(sealed[:place] + bytes((sealed[place] ^ 1,)) + sealed[place + 1 :], b"scan") is None
        assert seal.opened(sealed[:place], b"scan") is None


def test_all_servers_have_one_key_which_is_made_once() -> None:
    runtime = SimulatedRuntime(3)

    def body() -> None:
        service = MemoryLockService(runtime)
        keys = [PositionKey(service.open_session(name), runtime.clock_seconds) for name in ("a", "b", "c")]
        sealed = keys[0].seal().seal(b"row", b"scan")
        assert [key.seal().opened(sealed, b"scan") for key in keys] == [b"row"] * 3
        session = service.open_session("restorer")
        session.write(POSITIONS, encode(bytes(32)), session.read(POSITIONS).version)
        assert keys[1].seal().opened(sealed, b"scan") == b"row", "it is remembered"
        runtime.sleep(61)
        assert [key.seal().opened(sealed, b"scan") for key in keys] == [None] * 3
        session.write(POSITIONS, b"nonsense", session.read(POSITIONS).version)
        with pytest.raises(Corruption):
            PositionKey(session, runtime.clock_seconds).seal()

    runtime.run(body)

"""Those who hold the same key wait for each other, and nothing is kept of keys that nobody works on."""

from hbtable.errors import Unavailable
from hbtable.runtime.keyed_locks import KeyedLocks
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_one_at_a_time_for_each_key_and_nothing_is_left_behind() -> None:
    runtime = SimulatedRuntime(1)
    locks = KeyedLocks[bytes](runtime)
    did: list[str] = []

    def work(name: bytes, title: str) -> None:
        with locks.hold(name):
            did.append(f"{title} begins")
            runtime.sleep(1)
            did.append(f"{title} ends")
            if title == "second":
                raise Unavailable("no server")

    def body() -> None:
        tasks = [runtime.spawn(work, b"t", "first")]
        runtime.sleep(0.1)
        tasks += [runtime.spawn(work, b"t", "second"), runtime.spawn(work, b"u", "other")]
        runtime.sleep(0.1)
        tasks.append(runtime.spawn(work, b"t", "third"))
        runtime.sleep(1.5)
        assert locks.is_held(b"t")
        assert not locks.is_held(b"u")
        for task in tasks:
            task.join()
        assert [one for one in did if "other" not in one] == [
            "first begins",
            "first ends",
            "second begins",
            "second ends",
            "third begins",
            "third ends",
        ]
        assert not locks.is_held(b"t")
        assert not len(locks)

    runtime.run(body)

"""A program for tests: holds a lock in ZooKeeper and says, line by line, what it thinks of its session."""

import os
import sys

from hbtable.launch.roles.session_pipe import hand_over
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.runtime.gevent_runtime import GeventRuntime


def main(address: str, root: str, session_seconds: float, lock: str) -> None:
    runtime = GeventRuntime()
    service = ZooKeeperLockService(runtime, address, root, ZooKeeperOptions(session_seconds, call_seconds=20.0))
    session = service.open_session("client")
    hand_over(os.environ, address, session.credentials)
    session.lock(lock)
    state = ""
    while True:
        now = "over" if session.over() else "valid" if session.valid() else "suspended"
        if now != state:
            print(f"{runtime.clock_seconds():.3f} {now}", flush=True)
            state = now
        if state == "over":
            sys.exit(3)
        runtime.sleep(0.005)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])

"""Run with the package of an older release on its path: `python old_role.py CALLED` calls the role at that address, and
answers calls until its standard input ends. It prints the outcome of its call and its own address."""

import sys

from hbtable.rpc import thrift_server, thrift_transport
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.runtime.gevent_runtime import GeventRuntime

try:
    from hbtable.runtime.sockets import serve
except ModuleNotFoundError:
    from hbtable.runtime.network.sockets import serve  # where later releases have it

LONG = RpcOptions(connect_seconds=60, read_seconds=60, write_seconds=60)


class Role:
    def roll_log(self):
        pass


def main(address):
    runtime = GeventRuntime()
    transport = getattr(thrift_transport, "RpcTransport", None) or thrift_transport.ThriftTransport
    server = getattr(thrift_server, "RpcServer", None) or thrift_server.ThriftServer
    caller = transport(runtime, lambda name: address, lambda: address, LONG)
    try:
        caller.tablet_admin("s1").roll_log()
        outcome = "done"
    except Exception as error:
        outcome = f"{type(error).__name__}: {error}"
    print(outcome.replace("\n", " "))
    roles = LocalTransport()
    roles.register_server("s1", Role(), Role())
    port = server(runtime, roles, lambda handle: serve("127.0.0.1", 0, handle)).start()
    print(f"127.0.0.1:{port}", flush=True)
    runtime.offload("input", sys.stdin.readline)


main(sys.argv[1])

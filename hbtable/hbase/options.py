"""The settings of the Thrift gateway: limits of what it takes from its clients, and of how long it waits for them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThriftGatewayOptions:
    """Limits of the Thrift port: the section [thrift] of the configuration."""

    message_bytes: int = 64 << 20
    """The largest request. Raising it lets one client take that much memory, about three times while it is decoded."""
    answer_bytes: int = 64 << 20
    """The largest answer: a fetch returns fewer rows instead, a call that must give more is refused. A cell counts 40
    bytes more than its column and value. Raising it lets each client take that much memory, about twice."""
    cell_bytes: int = 10 << 20
    """Row, column and value of a written cell together, as HBase's hbase.client.keyvalue.maxsize."""
    transfer_bytes: int = 256 << 20
    """Large requests and answers of all clients together; beyond it the one under way for longest is cut off. Raising
    it lets that much more memory be taken by many clients at once; it should be a few times the two limits above."""
    connections: int = 10000
    """Clients at a time. Beyond it the address that holds most of them loses one: who never got an answer, then who was
    idle for longest. Fewer where the operating system allows fewer open files. Each costs about 20 KB."""
    waiting_calls: int = 5000
    """Requests that wait for their turn; beyond it the client that has most of them is told to try again. Raising it
    lets them wait longer, and takes up to 16 KB for each."""
    stall_seconds: float = 60.0
    """A client that falls silent in the middle of a request for so long, or is so much behind a kilobyte a second, is
    cut off. Between requests it may be silent for ever."""
    busy_poll_seconds: float = 0.0001
    """The server looks for the next request for so long before it sleeps, while that pays. 0: not at all. Longer:
    slower clients need not wait for it to wake up, and it takes a processor meanwhile."""
    slow_seconds: float = 0.1
    """Requests that take at least this long are remembered with all their parts. 0 remembers every request."""
    slow_requests: int = 256
    """The number of slow requests that are remembered."""
    scanner_idle_seconds: float = 3600.0
    """A scanner unused for this long is closed."""
    scanner_memory_bytes: int = 64 << 20
    """Parameters of all open scanners; beyond it the user, or the address, that has most of them loses the one unused
    for longest."""
    aggregate_bytes: int = 64 << 20
    """Groups of one page of an aggregate. A page ends at half of it, and one that comes to more is refused. Raising it
    lets each client take that much memory."""
    compaction_wait_seconds: float = 1.5
    """majorCompact returns after this even when the compaction goes on."""
    drain_seconds: float = 30.0
    """The longest time that a stop waits for requests under way."""

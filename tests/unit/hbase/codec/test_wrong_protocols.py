"""Whoever speaks something else reads the reason in its own protocol: read here by the libraries that speak it."""

import json
import ssl
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.protocol.THeaderProtocol import THeaderProtocol
from thrift.protocol.TJSONProtocol import TJSONProtocol as ApacheJson
from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
from thrift.Thrift import TApplicationException as ApacheException
from thrift.transport.THeaderTransport import THeaderClientType, THeaderSubprotocolID, THeaderTransformID
from thrift.transport.TTransport import TMemoryBuffer as ApacheBuffer
from thriftpy2.protocol.json import TJSONProtocol
from thriftpy2.thrift import TApplicationException, TMessageType
from thriftpy2.transport import TMemoryBuffer

from hbtable.hbase.codec.sniffing import DetectedProtocol, Protocol
from hbtable.hbase.connection import GatewayConnection
from hbtable.hbase.relays.relay import RELAYED
from hbtable.hbase.wrong_protocols import explanation
from tests.unit.hbase.conftest import FakeStream


@pytest.mark.parametrize("framed", [False, True])
def test_apache_json(gateway: Any, framed: bool) -> None:
    buffer = ApacheBuffer()
    writer = ApacheJson(buffer)
    writer.writeMessageBegin("getTableNames", 1, 77)
    writer.writeStructBegin("getTableNames_args")
    writer.writeFieldStop()
    writer.writeStructEnd()
    writer.writeMessageEnd()
    message = buffer.getvalue()
    sent = gateway.talk(len(message).to_bytes(4, "big") + message if framed else message).sent
    if framed:
        assert int.from_bytes(sent[:4], "big") == len(sent) - 4
        sent = sent[4:]
    reader = ApacheJson(ApacheBuffer(sent))
    assert reader.readMessageBegin() == ("getTableNames", 3, 77)
    refused = ApacheException()
    refused.read(reader)
    assert "not JSON" in str(refused)


def test_thriftpy2_json(gateway: Any) -> None:
    buffer = TMemoryBuffer()
    writer = TJSONProtocol(buffer)
    writer.write_message_begin("getTableNames", TMessageType.CALL, 12)
    writer.write_struct(gateway.interface.thrift.Hbase.getTableNames_args())
    reader = TJSONProtocol(TMemoryBuffer(gateway.talk(buffer.getvalue()).sent))
    assert reader.read_message_begin() == ("getTableNames", TMessageType.EXCEPTION, 12)
    refused = TApplicationException()
    reader.read_struct(refused)
    assert "not JSON" in str(refused)


@pytest.mark.parametrize("first", [b"[1,] ", b'[1,"a', b"\x00\x00\x00\x09{}", b'\0\0\0\x20{"name": 5, "seqid": "x"}'])
def test_json_that_is_cut_off_gets_an_answer_without_a_name(gateway: Any, first: bytes) -> None:
    sent = gateway.talk(first).sent
    assert "not JSON" in json.dumps(json.loads(sent[4:] if first[:1] == b"\0" else sent))


@pytest.mark.parametrize("protocol", [THeaderSubprotocolID.BINARY, THeaderSubprotocolID.COMPACT])
@pytest.mark.parametrize("zipped", [False, True])
def test_thrifts_header_format(gateway: Any, protocol: int, zipped: bool) -> None:
    """Read by Apache Thrift's own client, which takes the answer of either protocol."""
    buffer = ApacheBuffer()
    client = THeaderProtocol(buffer, (THeaderClientType.HEADERS,), protocol)
    if zipped:
        client.add_transform(THeaderTransformID.ZLIB)
    client.set_header(b"trace", b"1")
    client.writeMessageBegin("getTableNames", 1, 77)
    client.writeStructBegin("getTableNames_args")
    client.writeFieldStop()
    client.writeStructEnd()
    client.writeMessageEnd()
    client.trans.flush()
    sent = gateway.talk(buffer.getvalue()).sent
    reader = THeaderProtocol(ApacheBuffer(sent), (THeaderClientType.HEADERS,))
    name, kind, number = reader.readMessageBegin()
    assert (name, kind) == ("" if zipped else "getTableNames", 3)
    assert reader.trans.sequence_id == number
    assert number == client.trans.sequence_id
    refused = ApacheException()
    refused.read(reader)
    assert "not THeader" in str(refused)


@pytest.mark.parametrize("size", range(5, 40))
def test_a_header_that_is_cut_off_gets_an_answer_without_a_name(gateway: Any, size: int) -> None:
    first = (b"\0\0\0\x30\x0f\xff\0\0\0\0\0\x01\0\x01\0\0\0\0" + b"\x80\x01\0\x01\0\0\0\x06getRow")[:size]
    reader = THeaderProtocol(ApacheBuffer(gateway.talk(first).sent), (THeaderClientType.HEADERS,))
    assert "getRow".startswith(reader.readMessageBegin()[0])


def test_a_tls_client_gets_an_alert(gateway: Any) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    incoming.write(gateway.talk(outgoing.read()).sent)
    with pytest.raises(ssl.SSLError, match="SSLV3_ALERT_HANDSHAKE_FAILURE"):
        client.do_handshake()


@pytest.mark.parametrize("mechanism", [b"PLAIN", b"GSSAPI"])
def test_a_sasl_client_gets_a_status(gateway: Any, mechanism: bytes) -> None:
    start = b"\x01" + len(mechanism).to_bytes(4, "big") + mechanism
    sent = gateway.talk(start, b"\x02\x00\x00\x00\x08\0ann\0pwd").sent
    assert sent[0] == 4, "ERROR"
    assert int.from_bytes(sent[1:5], "big") == len(sent) - 5
    assert sent[5:].startswith(b"this server asks for no SASL")


def test_an_hbase_client_gets_an_exception(gateway: Any) -> None:
    sent = gateway.talk(b"HBas\x00\x50", b"\x00\x00\x00\x04user").sent
    assert int.from_bytes(sent[:4], "big") == len(sent) - 4
    header, rest = _delimited(sent[4:])
    assert rest == b""
    assert header[:6] == b"\x08\xff\xff\xff\xff\x0f", "call_id = -1"
    assert header[6] == 0x12, "exception"
    exception, rest = _delimited(header[7:])
    assert (rest, exception[0]) == (b"", 0x0A)
    name, rest = _delimited(exception[1:])
    assert name == b"org.apache.hadoop.hbase.ipc.FatalConnectionException"
    text, rest = _delimited(rest[1:])
    assert text.startswith(b"this is no HBase region server but hbtable")
    assert rest == b"\x28\x01", "do_not_retry"


def _delimited(data: bytes) -> tuple[bytes, bytes]:
    """(A message of Protocol Buffers behind its length, what follows it.)"""
    length = shift = place = 0
    while True:
        length |= (data[place] & 0x7F) << shift
        shift, place = shift + 7, place + 1
        if data[place - 1] < 0x80:
            return data[place : place + length], data[place + length :]


@pytest.mark.parametrize("ping", [b"*1\r\n$4\r\nPING\r\n", b"PING\r\n", b"ping\r\n"])
def test_a_redis_client_gets_an_error(gateway: Any, ping: bytes) -> None:
    sent = gateway.talk(ping).sent
    assert sent.startswith(b"-ERR this is no Redis")
    assert sent.endswith(b"\r\n")
    assert sent.count(b"\n") == 1


@pytest.mark.parametrize("typed", [b"hi\n", b"SSH-2.0-OpenSSH_9.9\r\n", b"help me\r\n"])
def test_a_person_gets_a_line(gateway: Any, typed: bytes) -> None:
    assert gateway.talk(typed).sent.startswith(b"this is hbtable")


STRANGERS = {
    "SSL 2": b"\x80\x2e\x01\0\x02\0\x15\0\0\0\x10" + bytes(37),
    "memcached": b"\x80\x0b" + bytes(22),
    "MongoDB": b"\x3a\0\0\0\x01\0\0\0\0\0\0\0\xd4\x07\0\0",
    "Cassandra": b"\x04\0\0\0\x05\0\0\0\0",
    "MQTT": b"\x10\x0f\0\x04MQTT\x04\x02\0\x3c",
    "no bytes of letters": b"\xff" * 20,
}


@pytest.mark.parametrize("said", STRANGERS.values(), ids=STRANGERS)
def test_who_speaks_what_nobody_knows_gets_a_line_with_what_it_said(gateway: Any, said: bytes) -> None:
    sent = gateway.talk(said).sent
    assert sent.startswith(b"this is hbtable")
    assert sent.endswith(f"began with {said[:4]!r}, which is none of Thrift's protocols\r\n".encode())


FRAMED_STRANGERS = {
    "Kafka": b"\0\0\0\x16\0\x12\0\x03\0\0\0\x01\0\x04test\0\x06python",
    "DNS": b"\0\0\0\x1e\0\x06\x01\0\0\x01" + bytes(24),
    "zeros": bytes(64),
}


@pytest.mark.parametrize("said", FRAMED_STRANGERS.values(), ids=FRAMED_STRANGERS)
def test_frames_that_hold_no_call_get_an_exception_in_thrift(gateway: Any, said: bytes) -> None:
    """They look like the binary protocol without versions until the name of the method comes."""
    sent = gateway.talk(said).sent
    assert int.from_bytes(sent[:4], "big") == len(sent) - 4
    reader = TBinaryProtocol(ApacheBuffer(sent[4:]), strictRead=False)
    assert reader.readMessageBegin()[1:] == (3, 0)
    refused = ApacheException()
    refused.read(reader)
    assert refused.type == 7
    assert str(refused).startswith("a me" if said == bytes(64) else "this is hbtable")


ASKS_FOR_TLS, ASKS_FOR_GSSAPI = b"\0\0\0\x08\x04\xd2\x16\x2f", b"\0\0\0\x08\x04\xd2\x16\x30"
STARTUP = b"\0\0\0\x25\0\3\0\0user\0ann\0database\0db\0\0"


@pytest.mark.parametrize("said", [STARTUP, STARTUP[:8], STARTUP[:7] + b"\2", ASKS_FOR_TLS, ASKS_FOR_GSSAPI])
def test_a_postgresql_client_gets_an_error(gateway: Any, said: bytes) -> None:
    sent = gateway.talk(said).sent
    if said in (ASKS_FOR_TLS, ASKS_FOR_GSSAPI):
        assert sent[:1] == b"N", "then it asks without, and reads what follows"
        sent = sent[1:]
    assert (sent[:1], int.from_bytes(sent[1:5], "big")) == (b"E", len(sent) - 1)
    assert sent.endswith(b"\0\0")
    fields = {field[:1]: field[1:] for field in sent[5:-2].split(b"\0")}
    assert (fields[b"S"], fields[b"V"], fields[b"C"]) == (b"FATAL", b"FATAL", b"08P01")
    assert fields[b"M"].startswith(b"this is no PostgreSQL but hbtable")


@pytest.mark.parametrize("asks", [ASKS_FOR_TLS, ASKS_FOR_GSSAPI])
def test_a_postgresql_client_that_asks_for_encryption_reads_the_error_after_it_asked_without(
    gateway: Any, asks: bytes
) -> None:
    """libpq, by default, waits for bytes that come after its second message."""
    before: list[bytes] = []
    stream = FakeStream((asks, lambda: before.append(stream.sent), STARTUP))
    GatewayConnection(stream, "client:1", gateway.context).serve()
    assert before == [b"N"]
    assert stream.sent[1:2] == b"E"


WAITING = {
    "PostgreSQL 2": b"\0\0\x01\x28\0\2\0\0" + bytes(288),
    "SOCKS 5": b"\x05\x01\0",
    "SOCKS 5 with two ways": b"\x05\x02\0\x02",
    "ZooKeeper's four letters": b"ruok",
    "Hazelcast": b"HZC\0",
    "epmd": b"\0\x01\x6e",
    "Diameter": b"\x01\0\0\x14\x80\0\x01\x01" + bytes(12),
    "Graphite's pickles": b"\0\0\0\x1d\x80\x02]q\0(U\x01aq\x01K\x01",
    "Modbus": b"\0\x01\0\0\0\x06\x01\x03\0\0\0\x01",
    "FastCGI": b"\x01\x01\0\x01\0\x08\0\0\0\x01" + bytes(6),
    "AFP": b"\0\x03\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\x0f\0",
    "HDFS": b"\0\x1c\x51\x10" + bytes(16),
    "IPP": b"\x02\0\0\x0b\0\0\0\x01",
    "half a frame": b"\0\0\0\x40\0\0\0\x06get",
    "a frame without a name": b"\0\0\0\x10\0\0\0\0",
    "half a frame of the strict protocol": b"\0\0\0\x40\x80\x01\0\x01\0\0\0\x06get",
    "half a frame of the compact protocol": b"\0\0\0\x40\x82\x21\x01\x06get",
    "half a call": b"\x80\x01\0\x01\0\0\0\x06get",
    "a letter": b"a",
    "two bytes": b"\0\0",
}


@pytest.mark.parametrize("said", WAITING.values(), ids=WAITING)
def test_who_waits_for_an_answer_to_what_is_no_whole_call_gets_one(gateway: Any, said: bytes) -> None:
    stream = FakeStream((said,))
    stream.recv_error = TimeoutError()
    GatewayConnection(stream, "client:1", gateway.context).serve()
    answers = (b"this is hbtable", b"is no Thrift call", b"its rest did not come", b"thrift.message_bytes")
    assert any(words in stream.sent for words in answers)
    assert stream.closed


def test_a_gateway_whose_call_does_not_come_whole_gets_no_answer_for_its_client(gateway: Any) -> None:
    """It carries the call out itself; two answers would be one too many."""
    stream = FakeStream((WAITING["half a call"],))
    stream.recv_error = TimeoutError()
    GatewayConnection(stream, f"{RELAYED}:1", gateway.context).serve()
    assert stream.sent == b""
    assert stream.closed


@pytest.mark.parametrize(("compact", "service"), [(False, "Hbase"), (True, "THBaseService")])
def test_thrifts_multiplexed_protocol_is_told_to_leave_the_service_away(
    gateway: Any, compact: bool, service: str
) -> None:
    def protocol(data: bytes = b"") -> Any:
        return (TCompactProtocol if compact else TBinaryProtocol)(ApacheBuffer(data))

    writer = protocol()
    multiplexed = TMultiplexedProtocol(writer, service)
    multiplexed.writeMessageBegin("getTableNames", 1, 7)
    multiplexed.writeStructBegin("getTableNames_args")
    multiplexed.writeFieldStop()
    multiplexed.writeStructEnd()
    multiplexed.writeMessageEnd()
    reader = protocol(gateway.talk(writer.trans.getvalue()).sent)
    assert reader.readMessageBegin()[1:] == (3, 7)
    refused = ApacheException()
    refused.read(reader)
    assert f"leave '{service}:' away" in str(refused)


@pytest.mark.parametrize("protocol", list(Protocol))
def test_each_sentence_is_one_line(protocol: Protocol) -> None:
    for framed in (False, True):
        assert explanation(DetectedProtocol(protocol, framed), b"\r\nanything\xff\r\n").count(b"\n") <= 1

"""Thrift over HTTP as clients speak it: thriftpy2's THttpClient, requests, a browser's GET; over TLS as well."""

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import thriftpy2
from thriftpy2.http import make_client

from tests.harness.certificates import CA, put_certificate
from tests.harness.warm_server import WarmServer

IDL = Path(__file__).resolve().parents[2] / "hbtable" / "idl" / "hbase.thrift"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    folder = tmp_path_factory.mktemp("http")
    certificate, key = put_certificate("server", folder)
    with WarmServer(folder / "data", [f"tls.certificate={certificate}", f"tls.key={key}"]) as started:
        yield started


@pytest.fixture(scope="module")
def thrift() -> Any:
    return thriftpy2.load(str(IDL), module_name="http_transport_thrift")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("keep_alive", [False, True])
def test_thriftpy2(server: WarmServer, thrift: Any, scheme: str, keep_alive: bool) -> None:
    table = f"{scheme}{keep_alive}".encode()
    client = make_client(
        thrift.Hbase,
        "localhost",
        server.port,
        scheme=scheme,
        keep_alive=keep_alive,
        timeout=60_000,
        ssl_context_factory=lambda: ssl.create_default_context(cafile=CA),
    )
    client.createTable(table, [thrift.ColumnDescriptor(name=b"f:")])
    for number in range(20):
        mutations = [thrift.Mutation(column=b"f:a", value=b"v" * 100_000)]
        client.mutateRow(table, b"%02d" % number, mutations, {})
    scanner = client.scannerOpen(table, b"", [], {})
    rows = client.scannerGetList(scanner, 100)
    assert [row.row for row in rows] == [b"%02d" % number for number in range(20)]
    assert len(rows[7].columns[b"f:a"].value) == 100_000
    with pytest.raises(thrift.IOError):
        client.getRow(b"none", b"r", {})
    assert table in client.getTableNames()
    client.close()


@pytest.mark.parametrize("in_chunks", [False, True])
def test_requests(server: WarmServer, in_chunks: bool) -> None:
    call = b"\x80\x01\x00\x01\x00\x00\x00\x0cgetClusterId\x00\x00\x00\x07\x00"
    with requests.Session() as session:
        session.trust_env = False
        for url in (f"http://localhost:{server.port}/", f"https://localhost:{server.port}/"):
            for _ in range(2):
                body = iter([call[:7], call[7:]]) if in_chunks else call
                answer = session.post(url, data=body, verify=CA, timeout=60).content
                assert answer.startswith(call[:3] + b"\x02" + call[4:-1] + b"\x0b\x00\x00")


def test_a_browser_reads_a_sentence(server: WarmServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(f"http://localhost:{server.port}/", timeout=60)
    with raised.value as error:
        assert error.code == 400
        assert b"speaks HBase's Thrift interfaces" in error.read()

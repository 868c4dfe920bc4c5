"""The package hdfs as a carrier: what its errors may say."""

import io
import traceback
from typing import Any

import pytest
import requests
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import ConnectTimeoutError, MaxRetryError

from hbtable.fs.webhdfs.package import PackageSession
from hbtable.fs.webhdfs.requests import NotSent, WebHdfsRequest


class NobodyThere(requests.adapters.HTTPAdapter):
    """Fails as requests and urllib3 do when nobody takes the connection: with the whole target in the text."""

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        pool = HTTPConnectionPool("datanode", 9864)
        reason = ConnectTimeoutError(None, "Connection to datanode timed out. (connect timeout=2.0)")
        raise requests.exceptions.ConnectTimeout(MaxRetryError(pool, request.path_url, reason), request=request)


def test_a_datanode_that_is_away_does_not_put_the_delegation_token_into_the_error() -> None:
    """The NameNode sends clients to DataNodes with a token in the address: errors go to the log."""
    session = requests.Session()
    carrier = PackageSession(session)
    session.mount("http://", NobodyThere())
    request = WebHdfsRequest("GET", "datanode:9864", "/webhdfs/v1/a?op=OPEN&delegation=IgAD-known", b"", 1.0)
    with pytest.raises(NotSent, match="datanode:9864 cannot be reached: ConnectTimeout") as failed:
        carrier(request)
    carrier.close()
    assert "IgAD-known" not in "".join(traceback.format_exception(failed.value))


def test_no_proxy_gets_the_tickets(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the adapters without Kerberos, which know of none: a proxy of the environment is for the way out."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    class Direct(requests.adapters.HTTPAdapter):
        def send(self, request: requests.PreparedRequest, *_: Any, **options: Any) -> requests.Response:
            assert not options.get("proxies")
            answer = requests.Response()
            answer.status_code, answer.raw = 200, io.BytesIO(b"here")
            return answer

    session = requests.Session()
    carrier = PackageSession(session)
    session.mount("http://", Direct())
    assert carrier(WebHdfsRequest("GET", "namenode:9870", "/webhdfs/v1/a?op=OPEN", b"", 1.0)).body == b"here"
    carrier.close()

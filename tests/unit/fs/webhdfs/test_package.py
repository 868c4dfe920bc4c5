"""The package hdfs as a carrier: what its errors may say."""

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

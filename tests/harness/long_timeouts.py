"""Deadlines for tests of an HDFS in which no node is silent: a machine that stands still for seconds is waited for."""

from typing import Final

from hbtable.fs.hdfs.options import CLIENT_SETTINGS, HdfsNativeOptions
from hbtable.fs.opened import FileSystemOptions
from hbtable.fs.webhdfs.options import WebHdfsOptions

_SECONDS: Final = 30.0

LONG_TIMEOUTS: Final = FileSystemOptions(
    webhdfs=WebHdfsOptions(
        put_seconds=_SECONDS, read_seconds=_SECONDS, names_seconds=_SECONDS, failover_seconds=2 * _SECONDS
    ),
    hdfs=HdfsNativeOptions(
        log_sync_seconds=_SECONDS,
        put_seconds=_SECONDS,
        read_seconds=_SECONDS,
        names_seconds=_SECONDS,
        client_settings={**CLIENT_SETTINGS, "dfs.client.socket-timeout": f"{1000 * _SECONDS:.0f}"},
    ),
)

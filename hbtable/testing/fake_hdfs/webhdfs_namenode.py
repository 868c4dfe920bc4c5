"""A NameNode's WebHDFS in memory, over a FakeNamespace: for tests and simulation, under webhdfs.py.

Answers what Hadoop 3.4.2 was seen to answer (docs/hdfs.md); `hadoop_2` in the namespace takes out what 2.7.3 does not
know (LISTSTATUS_BATCH, createflag), `gateway` what HttpFS does not tell (inode numbers, options of a rename).
"""

import json
from collections.abc import Callable
from typing import Final, final
from urllib.parse import parse_qsl, unquote

from hbtable.fs.webhdfs.requests import PREFIX, WebHdfsRequest, WebHdfsResponse
from hbtable.testing.fake_hdfs.namespace import FakeFile, FakeFolder, FakeHadoopError, FakeNamespace

_BATCH: Final = 3
"""A real one has 1,000 entries; so few show what goes wrong between two."""
_STATUS_OF: Final = {"FileNotFoundException": 404, "IllegalArgumentException": 400}


def split_target(target: str) -> tuple[str, dict[str, str]]:
    """The HDFS path and the parameters."""
    path, _, query = target.partition("?")
    return unquote(path.removeprefix(PREFIX)), dict(parse_qsl(query, keep_blank_values=True))


def refusal(error: FakeHadoopError) -> WebHdfsResponse:
    """As the real one words it."""
    body = {"exception": error.short_class, "javaClassName": error.java_class, "message": error.message}
    return WebHdfsResponse(_STATUS_OF.get(error.short_class, 403), "", json.dumps({"RemoteException": body}).encode())


def answer(body: object) -> WebHdfsResponse:
    return WebHdfsResponse(200, "", json.dumps(body).encode())


@final
class FakeNameNode:
    """Answers requests at once. `choose` picks a DataNode, given those to be left out by block address."""

    def __init__(
        self,
        namespace: FakeNamespace,
        choose: Callable[[frozenset[str]], str],
        gateway: bool = False,
    ) -> None:
        self.namespace = namespace
        self.gateway = gateway
        self._choose = choose

    def serve(self, request: WebHdfsRequest) -> WebHdfsResponse:
        """Never switches."""
        path, parameters = split_target(request.target)
        operation = parameters.get("op", "")
        served = getattr(self, f"_{request.method}_{operation}".lower(), None)
        if served is None or (operation == "LISTSTATUS_BATCH" and self.namespace.hadoop_2):
            message = (
                f'Invalid value for webhdfs parameter "op": {operation} is not a valid {request.method} operation.'
            )
            return refusal(FakeHadoopError("java.lang.IllegalArgumentException", message))
        try:
            response = served(path, parameters)
            assert isinstance(response, WebHdfsResponse)
            return response
        except FakeHadoopError as error:
            return refusal(error)

    # ------------------------------------------------------------ redirects

    def _put_create(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        # Whether the file is there is seen by the DataNode only.
        return self._redirect(path, parameters)

    def _get_open(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        file = self.namespace.find(path)
        if file is None:
            self.namespace.file(path)  # says what is missing
        if isinstance(file, FakeFile):
            offset = int(parameters.get("offset", "0"))
            if offset and offset >= file.length_bytes:
                message = f"Offset={offset} out of the range [0, {file.length_bytes}); OPEN, path={path}"
                raise FakeHadoopError("java.io.IOException", message)
        return self._redirect(path, parameters)

    def _redirect(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        node = self._choose(frozenset(parameters.pop("excludedatanodes", "").split(",")))
        if self.namespace.hadoop_2:
            parameters.pop("createflag", None)
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return WebHdfsResponse(307, f"http://{node}{PREFIX}{path}?{query}", b"")

    # ------------------------------------------------------------ times

    def _put_settimes(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        node = self.namespace.find(path)
        if node is None:
            raise FakeHadoopError("java.io.FileNotFoundException", f"File/Directory {path} does not exist.")
        node.modified_millis = int(parameters["modificationtime"])
        return WebHdfsResponse(200, "", b"")

    # ------------------------------------------------------------ looking

    def _get_getfilestatus(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        node = self.namespace.find(path)
        if node is None:
            raise FakeHadoopError("java.io.FileNotFoundException", f"File does not exist: {path}")
        return answer({"FileStatus": self._fields("", node)})

    def _get_liststatus(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        fields = [self._fields(name, node) for name, node in self.namespace.list(path)]
        return answer({"FileStatuses": {"FileStatus": fields}})

    def _get_liststatus_batch(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        if not isinstance(self.namespace.find(path), FakeFolder):
            raise FakeHadoopError("java.io.FileNotFoundException", f"File {path} does not exist.")
        after = parameters.get("startAfter", "")
        rest = [(name, node) for name, node in self.namespace.list(path) if name > after]
        fields = [self._fields(name, node) for name, node in rest[:_BATCH]]
        listing = {
            "partialListing": {"FileStatuses": {"FileStatus": fields}},
            "remainingEntries": len(rest) - len(fields),
        }
        return answer({"DirectoryListing": listing})

    def _get_get_block_locations(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        file = self.namespace.file(path)
        located = {"fileLength": file.length_bytes, "isUnderConstruction": bool(file.holder)}
        return answer({"LocatedBlocks": located})

    def _fields(self, name: str, node: FakeFile | FakeFolder) -> dict[str, object]:
        is_file = isinstance(node, FakeFile)
        return {
            "pathSuffix": name,
            "type": "FILE" if is_file else "DIRECTORY",
            "length": node.length_bytes if isinstance(node, FakeFile) else 0,
            "modificationTime": node.modified_millis,
            "fileId": 0 if self.gateway else node.inode,
        }

    # ------------------------------------------------------------ changing names

    def _put_mkdirs(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        self.namespace.mkdirs(path)
        return answer({"boolean": True})

    def _put_rename(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        target, options = parameters["destination"], parameters.get("renameoptions")
        if options is None or self.gateway:
            return answer({"boolean": self.namespace.rename_or_false(path, target)})
        self.namespace.rename(path, target, overwrite=options == "OVERWRITE")
        return WebHdfsResponse(200, "", b"")

    def _delete_delete(self, path: str, parameters: dict[str, str]) -> WebHdfsResponse:
        return answer({"boolean": self.namespace.delete(path, parameters.get("recursive") == "true")})

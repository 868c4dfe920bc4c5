r"""ZooKeeper's nodes for the paths, files and locks of the port.

path      /a/b  is the node  <root>/a+/b : a folder's node ends with "+", so that /a may be a file and a folder
file      a persistent node; the port's version is ZooKeeper's + 1
lock      an ephemeral node; its epoch is the node's czxid, which grows with each change of the whole service
data      16 hexadecimal digits, "\n", the bytes: the digits are drawn for each write, so that a writer whose answer
          was lost can see whether the value that stands there is its own
"""

from typing import Final

from hbtable.errors import Corruption
from hbtable.lockservice.files import check_path

MARK_BYTES: Final = 16
_FOLDER: Final = "+"
_PREFIX: Final = MARK_BYTES + 1


def check_root(root: str) -> str:
    """The root node as it is used: "" for "/"."""
    if root.rstrip("/"):
        check_path(root.rstrip("/"))
    return root.rstrip("/")


def node_of(root: str, path: str) -> str:
    """InvalidRequest when the path is malformed."""
    check_path(path)
    *folders, name = path[1:].split("/")
    return "/".join([root, *(folder + _FOLDER for folder in folders), name])


def folder_node(root: str, folder: str) -> str:
    """The node whose children are what is right below `folder`."""
    if folder == "/":
        return root or "/"
    return node_of(root, folder) + _FOLDER


def parents_of(node: str) -> list[str]:
    """Every node above, the highest first."""
    parts = node[1:].split("/")[:-1]
    return ["/" + "/".join(parts[: number + 1]) for number in range(len(parts))]


def names_of(children: list[str]) -> list[str]:
    """The names of the children as the port lists them, ascending."""
    return sorted({child.removesuffix(_FOLDER) for child in children})


def encode(mark: str, data: bytes) -> bytes:
    return mark.encode() + b"\n" + data


def decode(path: str, value: bytes) -> tuple[str, bytes]:
    """(mark, data). Corruption when something else wrote this node."""
    if len(value) < _PREFIX or value[MARK_BYTES:_PREFIX] != b"\n":
        raise Corruption(path, 0, "this lock service node was not written by hbtable")
    return value[:MARK_BYTES].decode(errors="replace"), value[_PREFIX:]

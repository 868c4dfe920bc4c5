"""Remembers in the folder of files that a cluster's nodes of ZooKeeper were protected by its digest.

    nodes-protected    in the folder of a cluster: the cluster's id, as in the file `cluster`

Who reaches ZooKeeper after it lost everything can make nodes with the cluster's id, which is no secret: they look like
those of a cluster that ran without a digest until now. The folder tells the two apart. The file is written once every
node is protected, and never before, so that a start which was cut off goes on. That it is there is what counts; nobody
reads what it says, so damage changes nothing.
"""

from typing import Final

from hbtable.fs.interface import FileSystem
from hbtable.lockservice.identity import folder_id
from hbtable.switches import switches

PROTECTION_MARK: Final = "nodes-protected"


@switches
def were_protected(fs: FileSystem) -> bool:
    return fs.exists(PROTECTION_MARK)


@switches
def remember_protected(fs: FileSystem) -> None:
    """Durable on return. Only once every node of the cluster is for those alone who know the digest."""
    if not were_protected(fs):
        fs.write_file(PROTECTION_MARK, folder_id(fs).encode())

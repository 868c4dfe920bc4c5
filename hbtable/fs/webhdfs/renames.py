"""Renames through WebHDFS. Finds out whether a rename was done when its answer was lost, or when the answer denies it.

The inode number tells: after a lost answer, or a "there is no source" behind one, the adapter looks which inode stands
under the target's name. All paths are absolute.
"""

from typing import final

from hbtable.errors import AlreadyExists, FileNotFound, Stalled, StorageFailed, Unavailable
from hbtable.fs.webhdfs.errors import exists_already, is_absent, refused
from hbtable.fs.webhdfs.namenodes import NameNodeAnswer, NameNodes
from hbtable.fs.webhdfs.requests import OK, boolean_of
from hbtable.fs.webhdfs.status import NodeStatus, look
from hbtable.switches import switches


@final
class Renames:
    """Asks the NameNodes; keeps nothing."""

    def __init__(self, namenodes: NameNodes) -> None:
        self._namenodes = namenodes

    @switches
    def rename(self, source: str, target: str, status: NodeStatus) -> None:
        """*Switches.* As FileSystem.rename. `status`: of the source, just now."""
        answer = self._renamed(source, target, "NONE")
        if _renamed_it(answer):
            return
        if self._landed(source, target, status, answer.repeated):
            return
        if answer.error is None or exists_already(answer.error):
            # False comes from gateways that do not know the options: for each reason there is.
            if look(self._namenodes, target) is not None:
                raise AlreadyExists(f"{target} exists already, so {source} keeps its name")
            if look(self._namenodes, source) is None:
                raise FileNotFound(f"there is no file {source} to rename to {target}")
            raise StorageFailed(f"renaming {source} to {target} failed: HDFS would not, and does not say why")
        raise refused(answer.error, source, f"renaming to {target}")

    @switches
    def replace(self, temporary: str, target: str, shown: str) -> None:
        """*Switches.* `temporary`, whose name nobody else knows, is at `target` on return, over what was there.
        StorageFailed; `shown` is the path that it names."""
        try:
            answer = self._renamed(temporary, target, "OVERWRITE")
        except Stalled:
            # It may yet be done, over a later content. Without its source it can do nothing any more.
            if self._taken_back(temporary):
                raise
            return
        if _renamed_it(answer):
            return
        # Denied: but a proxy may have repeated it, as this adapter does after a lost answer, and nobody else knows the
        # name. The target may hold a later writer's content already.
        if self._gone(temporary):
            return
        if answer.error is None:
            raise StorageFailed(f"writing {shown} failed: this server renames over no file (HttpFS gateways do not)")
        error = refused(answer.error, shown, "writing")
        raise error if isinstance(error, StorageFailed) else StorageFailed(f"writing {shown} failed: {error}")

    @switches
    def _renamed(self, source: str, target: str, options: str) -> NameNodeAnswer:
        """The answer to a rename whose target has a folder. Repeated when an answer is lost: the second of two finds no
        source, and no harm is done."""
        parameters = {"destination": target, "renameoptions": options}
        answer = self._namenodes.ask("PUT", source, "RENAME", parameters=parameters)
        no_folder = answer.error is not None and is_absent(answer.error)
        if no_folder or (answer.error is None and boolean_of(answer.response) is False):
            folder = target.rpartition("/")[0]
            # Asked again also where the folder is there: another process may have made it just now.
            if look(self._namenodes, source) is not None:
                made = self._namenodes.ask("PUT", folder, "MKDIRS")
                if made.error is not None:
                    raise refused(made.error, folder, "making")
                again = self._namenodes.ask("PUT", source, "RENAME", parameters=parameters)
                return again._replace(repeated=again.repeated or answer.repeated)
        return answer

    @switches
    def _gone(self, absolute: str) -> bool:
        try:
            return look(self._namenodes, absolute) is None
        except Unavailable as error:
            raise Stalled(f"whether {absolute} was renamed is unknown: {error}") from error

    @switches
    def _taken_back(self, temporary: str) -> bool:
        """Deletes the source of a rename that had no answer. True: the rename was not done, or that is unknown. False:
        it was done, for nobody else knows the name of its source. Stalled."""
        answer = self._namenodes.ask("DELETE", temporary, "DELETE")
        return answer.repeated or answer.error is not None or boolean_of(answer.response) is not False

    @switches
    def _landed(self, source: str, target: str, status: NodeStatus, repeated: bool) -> bool:
        """Whether the file stands at `target` although the answer denies it, because this adapter or a proxy asked
        twice. Stalled when that cannot be known."""
        try:
            there = look(self._namenodes, target)
            if there is not None and there.inode > 0:
                return there.inode == status.inode
            return repeated and there is not None and look(self._namenodes, source) is None
        except Unavailable as error:
            raise Stalled(f"whether {source} was renamed to {target} is unknown: {error}") from error


def _renamed_it(answer: NameNodeAnswer) -> bool:
    """A page of some proxy is no yes. With options Hadoop's is empty."""
    said = boolean_of(answer.response)
    return answer.error is None and (
        bool(said) or (said is None and answer.response.status in OK and not answer.response.body)
    )

"""Another user really tries to put his words into a file: what the kernel lets him do is what is refused."""

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.runtime import private_files
from hbtable.runtime.private_files import check_place, check_private

ROOT, SERVER, STRANGER = 0, 4711, 4712


class Tree(NamedTuple):
    """A folder in a folder with a file in it, or with a link to one elsewhere: who owns them, and their modes."""

    above: tuple[int, int]
    folder: tuple[int, int]
    file: int
    link: int | None
    elsewhere: tuple[int, int]

    def make(self, root: Path) -> Path:
        above, elsewhere = root / "above", root / "elsewhere"
        folder = above / "folder"
        for one in (root, above, folder, elsewhere):
            one.mkdir()
            one.chmod(0o755)
        path = folder / "file" if self.link is None else elsewhere / "file"
        path.write_text("of the server")
        path.chmod(0o600)
        os.chown(path, self.file, self.file)
        if self.link is not None:
            (folder / "file").symlink_to("../../elsewhere/file")
            os.lchown(folder / "file", self.link, self.link)
        for place, (owner, mode) in ((above, self.above), (folder, self.folder), (elsewhere, self.elsewhere)):
            place.chmod(mode)
            os.chown(place, owner, owner)
        return folder / "file"


def trees() -> Iterator[Tree]:
    closed = (ROOT, 0o755)
    places = list(itertools.product((ROOT, SERVER, STRANGER), (0o755, 0o777, 0o1777)))
    for above, folder, file in itertools.product(places, places, (ROOT, SERVER, STRANGER)):
        yield Tree(above, folder, file, None, closed)
    for folder, link, elsewhere in itertools.product(places, (ROOT, SERVER, STRANGER), places):
        yield Tree(closed, folder, SERVER, link, elsewhere)


def refused(path: Path) -> str:
    try:
        check_private(str(path), os.stat(path), "it")
    except InvalidConfiguration as error:
        return str(error)
    return ""


@contextmanager
def acting_as(user: int) -> Iterator[None]:
    """All but root's rights are his, in no group but his own."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(user)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(ROOT)
        os.setegid(ROOT)
        os.setgroups(groups)


def attack(tree: str) -> None:
    """Tries all there is. Relative, because folders of the tests are root's alone."""
    above, folder, elsewhere = f"{tree}/above", f"{tree}/above/folder", f"{tree}/elsewhere"
    for own, mode in ((above, 0o777), (folder, 0o777), (elsewhere, 0o777), (f"{folder}/file", 0o666)):
        with suppress(OSError):
            os.chmod(own, mode)
    write(f"{folder}/file")
    for place in (folder, elsewhere):
        with suppress(OSError):
            os.rename(f"{place}/file", f"{place}/away")
        write(f"{folder}/file")
    with suppress(OSError):
        os.rename(folder, f"{above}/away")
        os.mkdir(folder)
        write(f"{folder}/file")


def write(path: str) -> None:
    with suppress(OSError), open(path, "w") as file:
        file.write("strange")


@pytest.mark.skipif(os.geteuid() != ROOT, reason="only root can make files of several users")
def test_what_another_user_can_replace_is_refused_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's link is not followed where he can't change it any more, either."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(private_files.os, "geteuid", lambda: SERVER)
    tmp_path.chmod(0o755)
    known = {str(number): (tree, tree.make(tmp_path / str(number))) for number, tree in enumerate(trees())}
    said = {name: refused(path) for name, (_, path) in known.items()}
    with acting_as(STRANGER):
        for name in known:
            attack(name)
    wrong = [
        (tree, said[name])
        for name, (tree, path) in known.items()
        if bool(said[name]) != (path.read_text() != "of the server" or tree.link == STRANGER)
    ]
    assert not wrong, f"{len(wrong)} of {len(known)}: {wrong[:5]}"


@pytest.mark.skipif(os.geteuid() != ROOT, reason="only root can make files of several users")
@pytest.mark.parametrize(
    ("above", "folder", "file", "why"),
    [
        ((ROOT, 0o755), (SERVER, 0o700), SERVER, ""),
        ((ROOT, 0o755), (SERVER, 0o700), ROOT, ""),
        ((ROOT, 0o755), (ROOT, 0o755), STRANGER, ""),
        ((ROOT, 0o755), (SERVER, 0o770), STRANGER, "another user .number 4712"),
        ((SERVER, 0o755), (SERVER, 0o700), SERVER, ""),
        ((SERVER, 0o770), (STRANGER, 0o700), SERVER, "a folder of another user .number 4712"),
        ((ROOT, 0o1777), (STRANGER, 0o700), STRANGER, "a folder of another user .number 4712"),
        ((ROOT, 0o755), (ROOT, 0o1777), STRANGER, "another user .number 4712"),
    ],
)
def test_root_trusts_the_owner_of_a_folder_that_root_gave_him(
    tmp_path: Path, above: tuple[int, int], folder: tuple[int, int], file: int, why: str
) -> None:
    path = Tree(above, folder, file, None, (ROOT, 0o755)).make(tmp_path / "tree")
    assert bool(re.search(why, refused(path))) if why else not refused(path)


def test_links_without_end(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(InvalidConfiguration, match="too many symbolic links"):
        check_place(str(tmp_path / "one"), None, "it")


def test_a_path_from_here_with_dots_and_a_link_to_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose").chmod(0o777)
    (tmp_path / "file").write_text("")
    (tmp_path / "top").symlink_to("/")
    monkeypatch.chdir(tmp_path)
    for path in ("file", "./file", f"top{tmp_path}/file", "none", "file/none"):
        check_place(path, None, "it")
    for path in ("loose/file", "loose/../file", f"top{tmp_path}//loose/none"):
        with pytest.raises(InvalidConfiguration, match="everybody may put another file"):
            check_place(path, None, "it")

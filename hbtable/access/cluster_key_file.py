"""The file with a cluster's keys: text, each line `hbtable-cluster-key-1 ` and 64 hexadecimal digits, 32 random bytes.

The first key is the one by which a role proves itself, and each of them is believed. Lines that are empty or begin with
# are passed over.
"""

import os
from typing import Final

from hbtable.errors import AlreadyExists, InvalidConfiguration, StorageFailed
from hbtable.runtime.private_files import check_private

_KIND: Final = "hbtable-cluster-key-1"
_KEY_BYTES: Final = 32
_LARGEST_BYTES: Final = 1 << 16


def make_cluster_key(path: str) -> None:
    """A new file with a new key, of which its owner alone may know. AlreadyExists, StorageFailed."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise AlreadyExists(f"{path} is there already; a key that roles use must not be lost: give another name") from (
            error
        )
    except OSError as error:
        raise StorageFailed(f"{path} cannot be made: {error.strerror}") from error
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{_KIND} {os.urandom(_KEY_BYTES).hex()}\n")
        file.flush()
        os.fsync(descriptor)


def read_cluster_keys(path: str) -> list[bytes]:
    """The keys of the file, one at least. InvalidConfiguration, which never shows a key."""
    try:
        with open(path, "rb") as file:
            check_private(path, os.fstat(file.fileno()), f"cluster.key = {path!r}, the cluster's key")
            data = file.read(_LARGEST_BYTES)
    except OSError as error:
        raise InvalidConfiguration(f"cluster.key = {path!r} cannot be read: {error.strerror}") from error
    lines = [(number, line.strip()) for number, line in enumerate(data.decode("latin-1").splitlines(), 1)]
    keys = [_key(line, f"cluster.key = {path!r}, line {number}") for number, line in lines if line and line[0] != "#"]
    if not keys:
        raise InvalidConfiguration(f"cluster.key = {path!r} has no key: `hbtable cluster-key FILE` makes one")
    return keys


def _key(line: str, where: str) -> bytes:
    kind, _, digits = line.partition(" ")
    if kind != _KIND:
        raise InvalidConfiguration(
            f"{where} is no key that this hbtable knows: a line is {_KIND} and {2 * _KEY_BYTES} hexadecimal digits, as "
            "`hbtable cluster-key FILE` writes it"
        )
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InvalidConfiguration(f"{where}: a key has {2 * _KEY_BYTES} hexadecimal digits, and this one has not")
    return key

"""Files that hold a secret, or say who comes in: each by every mode. Loose ones keep a server from starting."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from hbtable.access.accounts import Accounts
from hbtable.access.cluster_key_file import make_cluster_key, read_cluster_keys
from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountFile
from hbtable.errors import InvalidConfiguration
from hbtable.launch import serve
from hbtable.launch.access_warnings import warn_of_access
from hbtable.launch.cli.command import main
from hbtable.launch.config.cluster_configuration import CLUSTER_SECTIONS, ListenOptions
from hbtable.launch.config.configuration import load
from hbtable.launch.config.sections import ServerOptions, read_configuration
from hbtable.launch.roles import run
from hbtable.launch.roles.lock_service import read_digests
from hbtable.launch.servers import launcher
from hbtable.runtime.network.tls import ServerTls, TlsOptions
from tests.harness.certificates import put_ca, put_certificate

OF_NOBODY_ELSE, OF_ALL_BUT_WRITERS, KEY_OF_ROOT = 0o077, 0o002, 0o027


def list_of_users(folder: Path) -> tuple[Path, Callable[[], object]]:
    AccountFile(str(folder)).change(lambda accounts: accounts.with_user("ann", None))
    auth = AuthOptions(enabled=True, superusers="ann")
    return folder / "users", lambda: warn_of_access(TlsOptions(certificate="c"), auth, AccountFile(str(folder)))


def cluster_key(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / "key"
    make_cluster_key(str(path))
    return path, lambda: read_cluster_keys(str(path))


def digest(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / "digest"
    path.write_text("hbtable:secret\n")
    return path, lambda: read_digests(str(path))


def tls_key(folder: Path) -> tuple[Path, Callable[[], object]]:
    certificate, key = put_certificate("server", folder)
    return Path(key), lambda: ServerTls(TlsOptions(certificate=certificate, key=key))


def client_ca(folder: Path) -> tuple[Path, Callable[[], object]]:
    certificate, key = put_certificate("server", folder)
    path = put_ca(folder)
    return Path(path), lambda: ServerTls(TlsOptions(certificate=certificate, key=key, client_ca=path, required=True))


def configuration(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / "hbtable.toml"
    path.write_text('[auth]\nenabled = true\nsuperusers = "ann"\n')
    return path, lambda: load(CLUSTER_SECTIONS, str(path), {}).check_file()


@pytest.mark.parametrize(
    ("kind", "loose"),
    [
        (list_of_users, OF_NOBODY_ELSE),
        (cluster_key, OF_NOBODY_ELSE),
        (digest, OF_NOBODY_ELSE),
        (tls_key, KEY_OF_ROOT),
        (client_ca, OF_ALL_BUT_WRITERS),
        (configuration, OF_ALL_BUT_WRITERS),
    ],
)
def test_each_mode_of_each_file(
    tmp_path: Path, kind: Callable[[Path], tuple[Path, Callable[[], object]]], loose: int
) -> None:
    path, use = kind(tmp_path)
    if kind is tls_key and path.stat().st_uid != 0:
        loose = OF_NOBODY_ELSE
    for mode in range(0o400, 0o1000):
        path.chmod(mode)
        if not mode & loose:
            use()
            continue
        with pytest.raises(InvalidConfiguration, match=f"mode {mode:04o}.*chmod") as refused:
            use()
        assert "secret" not in str(refused.value)


KINDS = (list_of_users, cluster_key, digest, tls_key, client_ca, configuration)


@pytest.mark.parametrize("kind", KINDS)
def test_each_file_is_refused_where_another_user_could_put_his_own_into_its_place(
    tmp_path: Path, kind: Callable[[Path], tuple[Path, Callable[[], object]]]
) -> None:
    """More cases of one file: tests/unit/runtime/test_private_files.py."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path, use = kind(folder)
    path.chmod(0o600)
    use()
    tmp_path.chmod(0o777)
    path.touch()  # the list of users is looked at when it has changed
    with pytest.raises(InvalidConfiguration, match="everybody may put another file into its place"):
        use()
    tmp_path.chmod(0o700)
    use()


def test_a_file_of_users_that_is_a_link_or_a_folder_stops_a_start(tmp_path: Path) -> None:
    _, use = list_of_users(tmp_path)
    (tmp_path / "users").rename(tmp_path / "elsewhere")
    (tmp_path / "users").symlink_to("elsewhere")
    with pytest.raises(InvalidConfiguration, match="symbolic link"):
        use()
    (tmp_path / "users").unlink()
    (tmp_path / "users").mkdir(mode=0o700)
    with pytest.raises(InvalidConfiguration, match="cannot be used"):
        use()


def test_a_configuration_that_asks_nobody_could_have_lost_the_line_that_does(tmp_path: Path) -> None:
    path = tmp_path / "hbtable.toml"
    path.write_text("[thrift]\n")
    path.chmod(0o666)
    for defines in ([], ["auth.enabled=true"], ["auth.enabled=True"], ["auth.enabled=false"]):
        read = load(CLUSTER_SECTIONS, str(path), {}, defines)
        for one in (read, read.with_defaults({})):
            with pytest.raises(InvalidConfiguration, match="may be changed by everybody"):
                one.check_file()
    load(CLUSTER_SECTIONS, os.devnull, {}).check_file()
    load(CLUSTER_SECTIONS, None, {"HOME": str(tmp_path)}).check_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_a_strangers_configuration_in_the_current_folder_is_not_read_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hbtable.toml"
    path.write_text("[auth]\nenabled = false\n")
    os.chown(path, 4711, 4711)
    with pytest.raises(InvalidConfiguration, match=r"\./hbtable\.toml belongs to another user \(number 4711\)"):
        load(CLUSTER_SECTIONS, None, {"HOME": str(tmp_path)})
    load(CLUSTER_SECTIONS, "hbtable.toml", {})
    load(CLUSTER_SECTIONS, None, {"HBTABLE_CONFIG": "hbtable.toml"})
    os.chown(path, 0, 0)
    load(CLUSTER_SECTIONS, None, {"HOME": str(tmp_path)})


def test_servers_refuse_a_file_that_a_command_which_serves_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an operator who looks at it, and is neither root nor the user that the server runs as."""
    path, _ = configuration(tmp_path)
    path.chmod(0o646)
    shown = CliRunner().invoke(main, ["config", "--config", str(path)])
    assert (shown.exit_code, "auth.enabled = True" in shown.output) == (0, True), shown.output
    for module in (serve, launcher, run):
        monkeypatch.setattr(module, "prepare", lambda: None)
    read, of_cluster = read_configuration(str(path), {}), load(CLUSTER_SECTIONS, str(path), {})
    for start in (
        lambda: serve.run(read, str(tmp_path / "data"), None, 0),
        lambda: launcher.run(read, ServerOptions(), 2, str(path), ()),
        lambda: run._run("master", of_cluster, ListenOptions()),
    ):
        with pytest.raises(InvalidConfiguration, match="may be changed by everybody"):
            start()


def test_an_empty_list_is_no_file(tmp_path: Path) -> None:
    assert AccountFile(str(tmp_path)).read() == Accounts()


def test_a_folder_of_everybody_that_is_mounted_read_only_is_good_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Kubernetes mounts a ConfigMap."""
    path, use = configuration(tmp_path)
    tmp_path.chmod(0o777)
    with pytest.raises(InvalidConfiguration, match="in which everybody may put another file"):
        use()
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(f_flag=os.ST_RDONLY))
    use()
    path.chmod(0o666)
    with pytest.raises(InvalidConfiguration, match="may be changed by everybody"):
        use()

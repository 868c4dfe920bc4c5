"""Listening to other machines needs users and TLS, or a word that it is meant."""

import os
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hbtable.access.cluster_key_file import read_cluster_keys
from hbtable.errors import InvalidConfiguration
from hbtable.launch.cli.command import main
from hbtable.launch.config.cluster_configuration import read_cluster_configuration
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.sections import read_configuration
from hbtable.launch.exposure import is_loopback, refuse_exposed, refuse_exposed_role

TLS = "tls.certificate=c.pem"
AUTH = "auth.enabled=true"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_nothing(host: str) -> None:
    assert is_loopback(host)
    refuse_exposed(read_configuration(None, {}), host, "server.host", 0)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.7", "10.0.0.1", "a\ud800"])
def test_everything_else_is_more_than_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_a_name_without_an_address_is_taken_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(host: str, port: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    assert not is_loopback("no-such-host")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([], "auth.enabled is not set"),
        ([TLS], "auth.enabled is not set"),
        ([TLS, "tls.required=true", "tls.client_ca=ca.pem"], "auth.enabled is not set"),
        ([AUTH], "tls.certificate is not set"),
        ([AUTH, TLS, "auth.plain_text=true"], "auth.plain_text is set without tls.required"),
    ],
)
def test_without_users_or_without_tls_it_is_refused(settings: list[str], words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words) as refused:
        refuse_exposed(read_configuration(None, {}, settings), "192.0.2.7", "server.host", 0)
    assert "server.host = '192.0.2.7'" in str(refused.value)
    assert "--insecure" in str(refused.value)


def test_pages_that_take_passwords_from_everywhere_are_refused() -> None:
    """Their port has no TLS."""
    settings = [AUTH, TLS, "auth.plain_text=true", "tls.required=true"]
    with pytest.raises(
        InvalidConfiguration, match=r"auth\.plain_text is set with an http_port, which has no TLS"
    ) as one:
        refuse_exposed(read_configuration(None, {}, settings), "192.0.2.7", "server.host", 9091)
    assert "--insecure" in str(one.value)
    refuse_exposed(read_configuration(None, {}, settings[:2]), "192.0.2.7", "server.host", 9091)
    of_role = read_cluster_configuration(None, {}, [*settings, "cluster.key=key"])
    with pytest.raises(InvalidConfiguration, match="with an http_port"):
        refuse_exposed_role(of_role, "192.0.2.7", 9091)


@pytest.mark.parametrize("more", [[], ["auth.plain_text=true", "tls.required=true"]])
def test_with_both_it_is_served(more: list[str]) -> None:
    refuse_exposed(read_configuration(None, {}, [AUTH, TLS, *more]), "192.0.2.7", "server.host", 0)


def test_a_role_needs_the_clusters_key_as_well() -> None:
    def configuration(*settings: str) -> Configuration:
        return read_cluster_configuration(None, {}, settings)

    refuse_exposed_role(configuration(), "127.0.0.1", 9091)
    refuse_exposed_role(configuration(AUTH, TLS, "cluster.key=key"), "192.0.2.7", 0)
    with pytest.raises(InvalidConfiguration, match=r"cluster\.key is not set.*hbtable cluster-key FILE.*--insecure"):
        refuse_exposed_role(configuration(AUTH, TLS), "192.0.2.7", 0)
    with pytest.raises(InvalidConfiguration, match=r"auth\.enabled is not set"):
        refuse_exposed_role(configuration("cluster.key=key"), "192.0.2.7", 0)


def test_a_key_is_made_by_a_command(tmp_path: Path) -> None:
    path = tmp_path / "cluster.key"
    done = CliRunner().invoke(main, ["cluster-key", str(path)])
    assert (done.exit_code, done.output) == (0, "")
    again = CliRunner().invoke(main, ["cluster-key", str(path)])
    assert again.exit_code == 1
    assert "is there already" in again.output
    assert len(read_cluster_keys(str(path))) == 1


LISTENING = {
    "start": ["--data", "data", "--config", os.devnull],
    "start --servers 2": ["--data", "data", "--config", os.devnull],
    "master": ["--config", os.devnull, "-D", "cluster.zookeeper=127.0.0.1:1", "-D", "cluster.files=hdfs://h:1/f"],
    "tabletserver": ["--config", os.devnull, "-D", "cluster.zookeeper=127.0.0.1:1", "-D", "cluster.files=hdfs://h:1/f"],
    "thrift": ["--config", os.devnull, "-D", "cluster.zookeeper=127.0.0.1:1", "-D", "cluster.files=hdfs://h:1/f"],
    "shadow": ["--primary", "127.0.0.1:1", "--secondary", "127.0.0.1:2", "--port", "0"],
}
"""Each command that listens where it is told, with what it needs to come so far."""


def test_every_command_with_a_host_is_known() -> None:
    with_host = {
        name for name, command in main.commands.items() if any("--host" in option.opts for option in command.params)
    }
    assert with_host == {words.split()[0] for words in LISTENING}


@pytest.mark.parametrize("words", LISTENING)
def test_every_command_refuses_before_anything_is_made(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hbtable.launch.roles.run.exit_now", sys.exit)
    done = CliRunner().invoke(main, [*words.split(), *LISTENING[words], "--host", "192.0.2.7"])
    assert (done.exit_code, "is more than this machine" in done.output) == (2, True), done.output
    assert "--insecure" in done.output
    assert not list(tmp_path.iterdir())

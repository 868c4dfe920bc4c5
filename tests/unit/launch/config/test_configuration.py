"""Configuration: precedence, units, and errors that help."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.launch.config.configuration import load
from hbtable.launch.config.sections import SECTIONS as SERVER_SECTIONS


@dataclass(frozen=True)
class Server:
    host: str = "127.0.0.1"
    port: int = 9090
    limit_bytes: int = 1024
    wait_seconds: float = 1.0
    tick_millis: int = 10
    loud: bool = False


SECTIONS = {"server": Server}


def server(
    tmp_path: Path, text: str, environment: dict[str, str] | None = None, overrides: list[str] | None = None
) -> Server:
    file = tmp_path / "hbtable.toml"
    file.write_text(text)
    return load(SECTIONS, str(file), environment or {}, overrides or []).options("server", Server)


def test_a_missing_key_keeps_its_default(tmp_path: Path) -> None:
    assert server(tmp_path, "") == Server()


def test_units_are_converted_to_the_unit_in_the_name(tmp_path: Path) -> None:
    found = server(tmp_path, '[server]\nlimit_bytes = "64 MiB"\nwait_seconds = "250 ms"\ntick_millis = "2s"\n')
    assert (found.limit_bytes, found.wait_seconds, found.tick_millis) == (64 << 20, 0.25, 2000)


def test_the_command_line_beats_the_environment_beats_the_file(tmp_path: Path) -> None:
    text = "[server]\nport = 1\nlimit_bytes = 1\ntick_millis = 1\n"
    environment = {"HBTABLE_SERVER__PORT": "2", "HBTABLE_SERVER__LIMIT_BYTES": "2", "HBTABLE_LOG": "json"}
    found = server(tmp_path, text, environment, ["server.port=3"])
    assert (found.port, found.limit_bytes, found.tick_millis) == (3, 2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[server]\nprot = 1\n", "did you mean port?"),
        ("[sever]\nport = 1\n", r"did you mean \[server\]\?"),
        ("port = 1\n", "outside any"),
        ("[server]\nport = true\n", "a number is due"),
        ("[server]\nport = -1\n", "it lies between 0 and 65,535"),
        ('[server]\nlimit_bytes = "3 parsecs"\n', "not a unit of size"),
        ('[server]\nwait_seconds = "soon"\n', "not a number with a unit"),
        ('[server]\nloud = "maybe"\n', "true or false"),
        ("[server]\nhost = 7\n", "text in quotes"),
        ("[server\n", "not a TOML file"),
    ],
)
def test_a_mistake_is_refused_with_a_message(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        server(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r"none\.toml"):
        load(SECTIONS, str(tmp_path / "none.toml"), {})


def test_the_origin_of_each_value_can_be_shown(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[server]\nport = 5\n")
    shown = {key: (value, origin) for _, key, value, origin in load(SECTIONS, str(file), {}).effective()}
    assert shown["port"] == (5, str(file))
    assert shown["host"] == ("127.0.0.1", "default")


def test_a_message_shows_a_value_and_where_it_is_from(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[server]\nport = 5\n")
    read = load(SECTIONS, str(file), {}, ["server.host="])
    assert read.said("server", "port") == f"server.port = 5 ({file})"
    assert read.said("server", "host") == "server.host is not set (-D server.host)"
    assert read.said("server", "loud") == "server.loud is not set"


def test_a_value_of_a_set_is_refused_with_its_origin(tmp_path: Path) -> None:
    file = tmp_path / "hbtable.toml"
    file.write_text('[log]\ndurability = "none"\n')
    for path, environment, overrides, origin in (
        (str(file), {}, (), str(file)),
        (None, {"HBTABLE_LOG__DURABILITY": "none", "HOME": str(tmp_path)}, (), "environment HBTABLE_LOG__DURABILITY"),
        (str(file), {}, ("log.durability=never",), "-D log.durability"),
    ):
        with pytest.raises(InvalidConfiguration, match=r"section \[log\]: durability is '") as raised:
            load(SERVER_SECTIONS, path, environment, overrides).check()
        assert str(raised.value).startswith(f"{origin}: section [log]: durability is '")

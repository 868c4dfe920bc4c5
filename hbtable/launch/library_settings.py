"""Settings of hbtable.open(): the keys of a server's configuration that have a meaning without a port of its own."""

from collections.abc import Mapping
from typing import Final, cast

from hbtable.commitlog.options import LogOptions
from hbtable.errors import InvalidConfiguration, WrongType
from hbtable.launch.config.configuration import Configuration, Setting, Value
from hbtable.launch.embedded_cluster import EmbeddedOptions
from hbtable.model.values import shown
from hbtable.tabletserver.role import TabletServerOptions

_SECTIONS: Final = ("log", "tablet", "maintenance", "cache", "master", "garbage", "normalizer", "disk")


def options_of(durability: str, config: object) -> EmbeddedOptions:
    """`config`: values by `section.key`, or None. InvalidConfiguration for a key that there is not, or a value out of
    its bounds."""
    if config is None:
        return EmbeddedOptions(server=TabletServerOptions(log=LogOptions(durability=durability)))
    if not isinstance(config, Mapping):
        raise WrongType(f"config {shown(config)} has to be a dict, as {{'cache.block_cache_bytes': '64 MiB'}}")
    # With the first use: the sections of a server know its Thrift port, which open() does not need.
    from hbtable.launch.config.sections import SECTIONS, embedded_options

    settings = {("log", "durability"): Setting(durability, "durability")}
    for name, value in config.items():
        place = _place(name)
        if place in settings:
            raise InvalidConfiguration("config 'log.durability': the argument durability= says that")
        if type(value) not in (str, int, float, bool):
            raise WrongType(f"config {name!r}: {shown(value)} has to be text, a number, True or False")
        settings[place] = Setting(cast("Value", value), f"config {name!r}")
    configuration = Configuration(SECTIONS, settings)
    configuration.check()
    return embedded_options(configuration)


def _place(name: object) -> tuple[str, str]:
    if not isinstance(name, str):
        raise WrongType(f"config: the key {shown(name)} has to be text, as 'cache.block_cache_bytes'")
    section, dot, key = name.partition(".")
    if not dot:
        raise InvalidConfiguration(f"config {name!r}: write it as 'section.key', for example 'cache.block_cache_bytes'")
    if section not in _SECTIONS:
        raise InvalidConfiguration(
            f"config {name!r}: of hbtable.open() these sections take effect: {', '.join(_SECTIONS)}; `hbtable config` "
            "has their keys"
        )
    return section, key

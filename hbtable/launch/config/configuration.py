"""The configuration: one TOML file, overridden by the environment and then by -D section.key=value.

Each section is the frozen Options dataclass that stands beside the code that obeys it; this file only fills them.
An unknown section or key is an error with a suggestion, because a misspelt limit that is silently ignored is found in
the worst night. Order of precedence, strongest first: -D, HBTABLE_SECTION__KEY, the file, the default.
"""

import dataclasses
import difflib
import os
import pwd
import stat
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar, cast

from hbtable.errors import InvalidConfiguration
from hbtable.launch.config import bounds
from hbtable.launch.config.units import parse_bytes, parse_seconds
from hbtable.runtime.private_files import check_unchangeable

Options = TypeVar("Options")
Value = str | int | float | bool | list[str]
Defaults = Mapping[tuple[str, str], int | float]
"""By (section, key): where a kind of process has another default than the dataclass."""

_HERE: Final = "hbtable.toml"
"""In the current folder."""
_NOT_SHOWN: Final = "(set, and not shown)"


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from, for `hbtable config`."""

    value: Value
    origin: str


class Configuration:
    """Raw settings by (section, key); `options()` turns a section into its dataclass."""

    def __init__(
        self,
        sections: Mapping[str, type],
        settings: Mapping[tuple[str, str], Setting],
        defaults: Defaults = MappingProxyType({}),
        file: str = "",
    ) -> None:
        """`file`: where some of the settings are from, if any."""
        self._file = file
        self._sections = sections
        self._settings = settings
        self._defaults = defaults
        for (section, key), setting in settings.items():
            _refuse_unknown(sections, section, key, setting.origin)

    def options(self, section: str, kind: type[Options]) -> Options:
        """An instance of the section's dataclass with every set key in place of its default."""
        chosen: dict[str, Value] = {key: value for (name, key), value in self._defaults.items() if name == section}
        for field in keys_of(kind):
            setting = self._settings.get((section, field.name))
            if setting is not None:
                where = f"{section}.{field.name}"
                where = setting.origin if setting.origin == f"-D {where}" else f"{setting.origin}: {where}"
                if is_secret(field) and not isinstance(setting.value, str):
                    raise InvalidConfiguration(f"{where}: text in quotes is due")
                chosen[field.name] = _convert(setting.value, section, field.name, _type_name(field.type), where)
        try:
            return kind(**chosen)
        except (ValueError, InvalidConfiguration) as error:
            raise InvalidConfiguration(f"{self._origins(section)}section [{section}]: {error}") from error

    def _origins(self, section: str) -> str:
        """The files, variables and options that its keys are from, for a message."""
        found = {setting.origin: None for (name, _), setting in self._settings.items() if name == section}
        return f"{', '.join(found)}: " if found else ""

    def with_defaults(self, defaults: Defaults) -> "Configuration":
        """The same settings, with these defaults before those that it had."""
        return Configuration(self._sections, self._settings, {**self._defaults, **defaults}, self._file)

    def value(self, section: str, key: str) -> float:
        """The number in force."""
        return float(getattr(self.options(section, self._sections[section]), key))

    def said(self, section: str, key: str) -> str:
        """The value of a key that is no secret, for a message: with the file, variable or option that it is from."""
        setting = self._settings.get((section, key))
        if setting is None or not setting.value:
            return f"{section}.{key} is not set{'' if setting is None else f' ({setting.origin})'}"
        return f"{section}.{key} = {setting.value!r} ({setting.origin})"

    def check(self) -> None:
        """InvalidConfiguration for a key that is wrong by itself or beside another one."""
        for section, kind in self._sections.items():
            self.options(section, kind)
        bounds.contradictions(lambda section, key: getattr(self.options(section, self._sections[section]), key))

    def check_file(self) -> None:
        """For servers: InvalidConfiguration where others could have changed the file that says who may do everything.
        Also one that has nobody asked who he is: they may have taken out the line that does. /dev/null is nobody's."""
        if not self._file:
            return
        status = os.stat(self._file)
        if not stat.S_ISCHR(status.st_mode):
            what = f"the configuration file {self._file}, which says who may do everything"
            check_unchangeable(self._file, status, what)

    def effective(self) -> list[tuple[str, str, object, str]]:
        """(section, key, value, origin) of every key there is, in order; in a secret's place that there is one."""
        out: list[tuple[str, str, object, str]] = []
        for section, kind in self._sections.items():
            filled: object = self.options(section, kind)
            for field in keys_of(kind):
                setting = self._settings.get((section, field.name))
                origin = setting.origin if setting else "default"
                value = getattr(filled, field.name)
                out.append((section, field.name, _NOT_SHOWN if value and is_secret(field) else value, origin))
        return out


def load(
    sections: Mapping[str, type],
    path: str | None,
    environment: Mapping[str, str],
    overrides: Sequence[str] = (),
    defaults: Defaults = MappingProxyType({}),
    elsewhere: Collection[str] = (),
) -> Configuration:
    """Reads `path` (None: the usual places), then the environment, then `overrides` ("section.key=value"). Variables
    for the sections `elsewhere` are for other kinds of processes, and nothing is said about them."""
    settings: dict[tuple[str, str], Setting] = {}
    named = path or environment.get("HBTABLE_CONFIG")
    chosen = named or _usual_place(environment)
    if chosen == _HERE and not named:
        _refuse_strangers()
    if chosen:
        settings.update(_from_file(sections, chosen))
    for name, text in sorted(environment.items()):
        if name.startswith("HBTABLE_") and "__" in name:
            section, _, key = name[len("HBTABLE_") :].lower().partition("__")
            if section in elsewhere:
                continue
            settings[(section, key)] = Setting(text, f"environment {name}")
    for override in overrides:
        target, equals, text = override.partition("=")
        section, dot, key = target.strip().partition(".")
        if not equals or not dot:
            raise InvalidConfiguration(f"-D {override}: write it as section.key=value")
        settings[(section, key)] = Setting(text.strip(), f"-D {target.strip()}")
    return Configuration(sections, settings, defaults, chosen or "")


def keys_of(kind: type) -> list[dataclasses.Field[object]]:
    """The fields of an Options class that a file can hold; others are for programs."""
    fields = dataclasses.fields(kind)
    return [field for field in fields if _type_name(field.type) in ("bool", "int", "float", "str")]


def is_secret(field: dataclasses.Field[object]) -> bool:
    """Whether the value itself is one, and not the name of a file: nothing that is printed may have it."""
    return bool(field.metadata.get("secret"))


def _usual_place(environment: Mapping[str, str]) -> str | None:
    folder = environment.get("XDG_CONFIG_HOME") or os.path.join(home_of(environment), ".config")
    for candidate in (_HERE, os.path.join(folder, "hbtable", "hbtable.toml"), "/etc/hbtable/hbtable.toml"):
        try:
            if Path(candidate).is_file():
                return candidate
        except PermissionError:  # HOME is somebody else's, as under sudo
            continue
    return None


def _refuse_strangers() -> None:
    """InvalidConfiguration for another user's file in the current folder, which may be one that everybody writes to.
    In a container whose root is another user outside, root's files look like those of the owner of /."""
    owner = os.stat(_HERE).st_uid
    if owner not in (0, os.geteuid(), os.stat("/").st_uid):
        raise InvalidConfiguration(
            f"./{_HERE} belongs to another user (number {owner}), and nobody asked for it: name it by --config {_HERE} "
            "(or HBTABLE_CONFIG) if it is meant, or start in another folder"
        )


def home_of(environment: Mapping[str, str]) -> str:
    """The user's folder; as the system's list of users has it where HOME is empty or not set."""
    return environment.get("HOME") or os.path.expanduser(f"~{_user_name()}")


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's number without a name
        return ""


def _from_file(sections: Mapping[str, type], path: str) -> dict[tuple[str, str], Setting]:
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except OSError as error:
        raise InvalidConfiguration(f"cannot read the configuration file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidConfiguration(f"{path} is not a TOML file: {error}") from error
    settings: dict[tuple[str, str], Setting] = {}
    for section, content in document.items():
        if not isinstance(content, dict):
            raise InvalidConfiguration(f"{path}: {section} stands outside any [section]; {_known(sections, section)}")
        for key, value in content.items():
            if not isinstance(value, (str, int, float, bool, list)):
                raise InvalidConfiguration(f"{path}: {section}.{key} is a {type(value).__name__}; a plain value is due")
            settings[(section, key)] = Setting(cast("Value", value), path)
    return settings


def _refuse_unknown(sections: Mapping[str, type], section: str, key: str, origin: str) -> None:
    kind = sections.get(section)
    if kind is None:
        raise InvalidConfiguration(f"{origin}: there is no section [{section}]; {_known(sections, section)}")
    names = [field.name for field in keys_of(kind)]
    if key not in names:
        close = difflib.get_close_matches(key, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(names)}"
        raise InvalidConfiguration(f"{origin}: section [{section}] has no key {key}; {hint}")


def _known(sections: Mapping[str, type], wrong: str) -> str:
    close = difflib.get_close_matches(wrong, list(sections), 1)
    return f"did you mean [{close[0]}]?" if close else f"there are {', '.join(f'[{name}]' for name in sections)}"


def _type_name(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _convert(value: Value, section: str, name: str, kind: str, where: str) -> Value:
    """`value` as the field's type; text with units becomes a number in the unit that the field's name ends in."""
    if kind == "bool":
        return _as_bool(value, where)
    if kind == "str":
        if not isinstance(value, str):
            raise InvalidConfiguration(f"{where} = {value!r}: text in quotes is due")
        return value
    if isinstance(value, (bool, list)):
        raise InvalidConfiguration(f"{where} = {value!r}: a number is due")
    number = _as_number(value, name, where) if isinstance(value, str) else value
    bounds.check(section, name, number, kind == "int", f"{where} = {value!r}")
    return float(number) if kind == "float" else int(number)


def _as_bool(value: Value, where: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise InvalidConfiguration(f"{where} = {value!r}: true or false is due")


def _as_number(text: str, name: str, where: str) -> float:
    if name.endswith("_bytes"):
        return parse_bytes(text, where)
    if name.endswith("_seconds"):
        return parse_seconds(text, where, "s")
    if name.endswith("_millis"):
        return parse_seconds(text, where, "ms") * 1000
    try:
        return float(text)
    except ValueError as error:
        raise InvalidConfiguration(f"{where} = {text!r}: a number is due") from error

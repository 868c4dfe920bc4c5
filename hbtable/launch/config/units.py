"""Sizes and times as people write them in a configuration file: "64 MiB", "5s", "250 ms", 1048576.

The unit a number is kept in stands in its key's name (`_bytes`, `_seconds`, `_millis`); a bare number is in that unit.
"""

import re
from typing import Final

from hbtable.errors import InvalidConfiguration

_NUMBER: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*\Z")

_BYTES: Final = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _split(text: str, where: str, units: str) -> tuple[float, str]:
    match = _NUMBER.match(text)
    if match is None:
        raise InvalidConfiguration(f"{where}: {text!r} is not a number with a unit ({units})")
    return float(match.group(1)), match.group(2).lower()


def parse_bytes(text: str, where: str) -> int:
    """Reads `64 MiB` as 67108864. KiB, MiB, GiB, TiB are powers of 1024; KB, MB, GB, TB of 1000."""
    number, unit = _split(text, where, "KiB, MiB, GiB")
    if unit not in _BYTES:
        raise InvalidConfiguration(f"{where}: {text!r}: {unit!r} is not a unit of size; use KiB, MiB, GiB or TiB")
    return round(number * _BYTES[unit])


def parse_seconds(text: str, where: str, bare_unit: str) -> float:
    """Reads `250 ms` as 0.25; a bare number is in `bare_unit`."""
    number, unit = _split(text, where, "ms, s, min, h, d")
    unit = unit or bare_unit
    if unit not in _SECONDS:
        raise InvalidConfiguration(f"{where}: {text!r}: {unit!r} is not a unit of time; use ms, s, min, h or d")
    return number * _SECONDS[unit]

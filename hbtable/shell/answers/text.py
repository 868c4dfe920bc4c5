"""Bytes and times as HBase's shell writes them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_PLAIN: Final = frozenset(range(0x20, 0x7F)) - {0x5C}
_TABLE: Final = tuple(chr(byte) if byte in _PLAIN else f"\\x{byte:02X}" for byte in range(256))
_ESCAPED: Final = re.compile(rb"\\x([0-9A-Fa-f]{2})")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ROUND_MILLIS: Final = 146097 * 86_400_000
_FAR_MILLIS: Final = 1 << 45
"""In the year 3084."""
_FOREVER: Final = 2**31 - 1
_UNITS: Final = (("DAY", 86400), ("HOUR", 3600), ("MINUTE", 60), ("SECOND", 1))
_BYTE_UNITS: Final = (("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10), ("B", 1))


def binary(value: bytes) -> str:
    r"""toStringBinary: printable ASCII as it is, \ and everything else as \xHH. Hot: once per cell."""
    if value.isascii() and b"\\" not in value:
        text = value.decode("ascii")
        if text.isprintable():
            return text
    return "".join([_TABLE[byte] for byte in value])


def from_binary(value: bytes) -> bytes:
    r"""toBytesBinary: the four characters \xHH, which single quotes leave as they are, become one byte."""
    return _ESCAPED.sub(lambda found: bytes((int(found.group(1), 16),)), value)


def timestamp(millis: int) -> str:
    """Local date and time as java.time writes it: no fraction when it is 0, no seconds when both are."""
    try:
        moment = (_EPOCH + timedelta(milliseconds=millis)).astimezone()
    except (OverflowError, ValueError, OSError):
        return _far(millis)
    text = moment.isoformat()[:16]
    fraction = moment.microsecond // 1000
    if fraction:
        return f"{text}:{moment.second:02d}.{fraction:03d}"
    return f"{text}:{moment.second:02d}" if moment.second else text


def _far(millis: int) -> str:
    """Outside of Python's years, 400 of which repeat themselves to the day: `+10000-01-01T00:00`."""
    rounds = (millis - _FAR_MILLIS) // _ROUND_MILLIS
    near = timestamp(millis - rounds * _ROUND_MILLIS)
    year = int(near[:4]) + 400 * rounds
    return f"{'+' if year > 9999 else ''}{year:0{5 if year < 0 else 4}d}{near[4:]}"


def ttl(seconds: int) -> str:
    """`3600 SECONDS (1 HOUR)`."""
    if seconds >= _FOREVER:
        return "FOREVER"
    text = f"{seconds} SECOND{'' if seconds == 1 else 'S'}"
    parts, rest, minutes = [], seconds, seconds // 60 % 60
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            # HBase writes 100 as 1 MINUTE 40 SECOND: its last plural follows the minutes.
            single = (minutes if unit == "SECOND" else count) == 1
            parts.append(f"{count} {unit}{'' if single else 'S'}")
    return f"{text} ({' '.join(parts)})" if seconds >= 60 else text


def size(count: int) -> str:
    """`65536 B (64KB)`."""
    parts, rest = [], count
    for unit, width in _BYTE_UNITS:
        held, rest = divmod(rest, width)
        if held:
            parts.append(f"{held}{unit}")
    return f"{count} B ({' '.join(parts)})" if count >= 1024 else f"{count} B"

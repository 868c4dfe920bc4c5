"""A tablet's event as bytes, in METADATA: sealed (sealed.py), kind "E", and a JSON object with the fields of
model.tablet_event. Unknown names are passed over: a later version may add some without a new format."""

import json
from typing import Final

from hbtable.encoding.sealed import seal, unseal
from hbtable.errors import Corruption
from hbtable.model.tablet_event import TabletEvent

_KIND: Final = b"E"
_VERSION: Final = 1


def encode(event: TabletEvent) -> bytes:
    return seal(_KIND, _VERSION, json.dumps(event._asdict(), sort_keys=True).encode())


def decode(data: bytes, path: str) -> TabletEvent:
    """Corruption, UnsupportedFormat."""
    _, body = unseal(data, _KIND, _VERSION, path)
    try:
        fields = json.loads(body)
        numbers = [int(fields[name]) for name in ("table_id", "tablet_id", "generation", "millis")]
        texts = [str(fields[name]) for name in ("what", "server", "by", "why")]
    except (ValueError, KeyError, TypeError) as error:
        raise Corruption(path, 6, f"not an event of a tablet: {error}") from error
    return TabletEvent(*numbers, *texts)  # type: ignore[arg-type]  # four numbers and four texts, as its fields are

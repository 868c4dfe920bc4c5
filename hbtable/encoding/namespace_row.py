"""A namespace's row in METADATA as bytes.

    name                                  without properties, which is how every namespace began
    name, 00, (name, value) of each       with properties, ascending; both length-prefixed UTF-8 (encoding.varint)
    name, 00, 00, ...                     a later format: no property has an empty name

A namespace's name holds no 00 (model.names). Equal properties give equal bytes: a compare-and-set compares them.
"""

from collections.abc import Mapping

from hbtable.encoding.varint import decode_bytes, encode_bytes
from hbtable.errors import Corruption, InvalidRequest, UnsupportedFormat


def encode(name: bytes, properties: Mapping[str, str]) -> bytes:
    if not properties:
        return name
    if "" in properties:
        raise InvalidRequest(f"a property of namespace {name.decode()} has an empty name")
    out = [name, b"\x00"]
    for key in sorted(properties):
        out += (encode_bytes(key.encode()), encode_bytes(properties[key].encode()))
    return b"".join(out)


def decode(data: bytes) -> dict[str, str]:
    """The properties. Corruption, UnsupportedFormat."""
    name, _, rest = data.partition(b"\x00")
    found = {}
    offset = 0
    try:
        while offset < len(rest):
            key, offset = decode_bytes(rest, offset)
            if not key:
                raise UnsupportedFormat.unknown(
                    f"the METADATA row of namespace {name!r}", "format", rest[offset : offset + 20], "none after 00 00"
                )
            value, offset = decode_bytes(rest, offset)
            found[key.decode()] = value.decode()
    except (IndexError, ValueError) as error:
        raise Corruption(f"the METADATA row of namespace {name!r}", len(name) + 1 + offset, str(error)) from error
    return found

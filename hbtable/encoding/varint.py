"""Unsigned LEB128 varints, 7 bits a byte, least significant group first; bytes and texts with their length before them.

Texts are UTF-8, with surrogates for bytes that are not (a group is named after its family, which may hold any byte).
"""


def encode(number: int) -> bytes:
    """1 byte below 128, 2 below 16384, ... `number` >= 0."""
    if number < 128:
        return bytes((number,))
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def decode(buffer: bytes, offset: int) -> tuple[int, int]:
    """(number, offset after it). IndexError when the buffer ends inside."""
    byte = buffer[offset]
    if byte < 128:
        return byte, offset + 1
    number = byte & 127
    shift = 7
    while True:
        offset += 1
        byte = buffer[offset]
        number |= (byte & 127) << shift
        if byte < 128:
            return number, offset + 1
        shift += 7
        if shift > 63:
            raise ValueError("varint longer than 9 bytes")


def encode_bytes(value: bytes) -> bytes:
    return encode(len(value)) + value


def decode_bytes(buffer: bytes, offset: int) -> tuple[bytes, int]:
    """(value, offset after it). ValueError when the length points past the buffer."""
    length, offset = decode(buffer, offset)
    end = offset + length
    if end > len(buffer):
        raise ValueError("length points past the end")
    return buffer[offset:end], end


def encode_text(value: str) -> bytes:
    return encode_bytes(value.encode("utf-8", "surrogateescape"))


def decode_text(buffer: bytes, offset: int) -> tuple[str, int]:
    """As decode_bytes."""
    raw, offset = decode_bytes(buffer, offset)
    return raw.decode("utf-8", "surrogateescape"), offset

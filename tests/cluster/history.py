"""A history record as manager/history/record.cc writes it into a ConfigMap: base64 of form, name, schema, policy, worth, bytes and their checksum."""

import base64

FORM = 1


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at this position, and the position after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    """Encodes a number that is not negative."""
    return varint(value << 1)


def sealed(body: bytes) -> str:
    return base64.b64encode(body + fnv1a(body).to_bytes(8, "little")).decode()


def opened(text: str) -> bytes:
    raw = base64.b64decode(text)
    assert sealed(raw[:-8]) == text, "not one of our records"
    return raw[:-8]


def content_at(body: bytes) -> int:
    """The position of the owner's bytes."""
    _, at = read_varint(body, 0)
    size, at = read_varint(body, at)
    at += size
    for _ in ("schema", "policy", "worth", "bytes"):
        _, at = read_varint(body, at)
    return at


def record(name: str, *, schema: int, content: bytes) -> tuple[str, str]:
    """The key in the ConfigMap and the text of the record."""
    named = name.encode()
    body = varint(FORM) + varint(len(named)) + named + signed(schema) + signed(1) + varint(1) + varint(len(content)) + content
    return f"{fnv1a(named):016x}", sealed(body)

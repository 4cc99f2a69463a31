"""The part of GGUF that the oracle needs: reads F32 tensors, writes any; metadata."""
import struct

import numpy as np

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
           12: "d"}


def read(path):
    """Metadata {key: value} and tensors {name: float64 array, outermost dimension first}."""
    data = open(path, "rb").read()
    position = 0

    def take(form):
        nonlocal position
        (value,) = struct.unpack_from("<" + form, data, position)
        position += struct.calcsize("<" + form)
        return value

    def text():
        nonlocal position
        length = take("Q")
        position += length
        return data[position - length:position].decode("utf-8", "surrogateescape")

    def value_of(kind):
        if kind == 8:
            return text()
        if kind == 9:
            kind, count = take("I"), take("Q")
            return [value_of(kind) for _ in range(count)]
        return take(SCALARS[kind])

    assert data[:4] == b"GGUF"
    position = 4
    take("I")
    tensor_count, entry_count = take("Q"), take("Q")
    metadata = {}
    for _ in range(entry_count):
        key = text()
        metadata[key] = value_of(take("I"))
    infos = []
    for _ in range(tensor_count):
        name = text()
        dims = [take("Q") for _ in range(take("I"))]
        assert take("I") == 0, "F32 only"
        infos.append((name, dims, take("Q")))
    alignment = metadata.get("general.alignment", 32)
    contents = -(-position // alignment) * alignment
    tensors = {}
    for name, dims, offset in infos:
        values = np.frombuffer(data, "<f4", int(np.prod(dims)), contents + offset)
        tensors[name] = values.reshape(dims[::-1]).astype(np.float64)
    return metadata, tensors


def typed(metadata):
    """Read metadata as write wants it: u32, f32, string, bool; token types are i32."""
    result = {}
    for key, value in metadata.items():
        if isinstance(value, list):
            kind = 8 if isinstance(value[0], str) else 5
            result[key] = (9, (kind, value))
        else:
            kinds = {bool: 7, str: 8, float: 6, int: 4}
            result[key] = (kinds[type(value)], value)
    return result


def write(path, metadata, tensors):
    """Metadata: {key: (type id, value)}, an array as (9, (element type id, values)).

    Tensors: {name: float array}, stored as F32, or {name: (type id, shape, bytes)}.
    """

    def text(value):
        raw = value.encode("utf-8", "surrogateescape")
        return struct.pack("<Q", len(raw)) + raw

    def encoded(kind, value):
        if kind == 8:
            return text(value)
        if kind == 9:
            element, values = value
            return struct.pack("<IQ", element, len(values)) + b"".join(
                encoded(element, v) for v in values)
        return struct.pack("<" + SCALARS[kind], value)

    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, (kind, value) in metadata.items():
        out += text(key) + struct.pack("<I", kind) + encoded(kind, value)
    contents = b""
    for name, values in tensors.items():
        kind, shape, raw = values if isinstance(values, tuple) else (
            0, values.shape, values.astype("<f4").tobytes())
        dims = shape[::-1]
        out += text(name) + struct.pack("<I", len(dims))
        out += b"".join(struct.pack("<Q", dim) for dim in dims)
        out += struct.pack("<IQ", kind, len(contents))
        contents += raw
        contents += b"\0" * (-len(contents) % 32)
    out += b"\0" * (-len(out) % 32)
    open(path, "wb").write(out + contents)

"""Cuts a model file down to its vocabulary: python3 make_vocabulary.py MODEL.gguf OUT.gguf

Keeps the metadata keys general.* and tokenizer.* byte for byte and no tensor."""
import struct
import sys

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def main(source, target):
    data = open(source, "rb").read()

    def number(form, at):
        return struct.unpack_from("<" + form, data, at)[0]

    def value_end(kind, at):
        if kind == 8:
            return at + 8 + number("Q", at)
        if kind != 9:
            return at + SIZES[kind]
        element, count = number("I", at), number("Q", at + 4)
        at += 12
        if element in SIZES:
            return at + SIZES[element] * count
        for _ in range(count):
            at = value_end(element, at)
        return at

    assert data[:4] == b"GGUF" and number("I", 4) == 3
    at, kept = 24, []
    for _ in range(number("Q", 16)):
        key_end = at + 8 + number("Q", at)
        end = value_end(number("I", key_end), key_end + 4)
        if data[at + 8:key_end].startswith((b"general.", b"tokenizer.")):
            kept.append(data[at:end])
        at = end
    out = b"GGUF" + struct.pack("<IQQ", 3, 0, len(kept)) + b"".join(kept)
    open(target, "wb").write(out + bytes(-len(out) % 32))


main(*sys.argv[1:])

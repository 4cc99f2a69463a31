"""Quantizes the matrices of tests/data/tiny/tiny.gguf to every type that the engine takes.

  make_tiny_quantized.py TINY_FOLDER

Writes tiny_<type>.gguf, and tiny_quantized.json: token ids, and for each file the logits that
reference_transformer.py computes from the dequantized weights after the last of them.
"""
import json
import sys

import numpy as np

import gguf
import reference_transformer


def half(values):
    return values.astype("<f2")


def nibbles(q):
    """Element j in the low half of byte j, element j + 16 in the high half."""
    q = q.astype(np.uint8)
    return q[:, :16] | q[:, 16:] << 4


def joined(*columns):
    return np.concatenate([c.view(np.uint8).reshape(len(c), -1) for c in columns], axis=1).tobytes()


def q8_0(x):
    d = half(np.abs(x).max(1, keepdims=True) / 127)
    q = np.clip(np.round(x / d.astype(float)), -127, 127).astype(np.int8)
    return joined(d, q), q * d.astype(float)


def q4_0(x):
    extreme = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1)
    d = half(extreme / -8)
    q = np.clip(np.round(x / d.astype(float)) + 8, 0, 15)
    return joined(d, nibbles(q)), (q - 8) * d.astype(float)


def q4_1(x):
    low = half(x.min(1, keepdims=True))
    d = half((x.max(1, keepdims=True) - low) / 15)
    q = np.clip(np.round((x - low) / d.astype(float)), 0, 15)
    return joined(d, low, nibbles(q)), q * d.astype(float) + low.astype(float)


def f16(x):
    return half(x).tobytes(), half(x).astype(float)


def bf16(x):
    bits = x.astype("<f4").view("<u4")
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return bits.astype("<u2").tobytes(), (bits << 16).astype("<u4").view("<f4").astype(float)


TYPES = {"q8_0": (8, q8_0), "q4_0": (2, q4_0), "q4_1": (3, q4_1), "f16": (1, f16),
         "bf16": (30, bf16)}


def main():
    folder = sys.argv[1]
    metadata, tensors = gguf.read(f"{folder}/tiny.gguf")
    ids = np.random.default_rng(11).integers(11, 267, 200).tolist()
    result = {"ids": ids, "logits": {}}
    for name, (kind, quantize) in TYPES.items():
        stored, values = {}, {}
        for tensor, x in tensors.items():
            stored[tensor], values[tensor] = x, x
            if x.ndim == 1:
                continue
            raw, dequantized = quantize(np.ascontiguousarray(x.reshape(-1, 32)))
            stored[tensor] = (kind, x.shape, raw)
            values[tensor] = dequantized.reshape(x.shape)
        gguf.write(f"{folder}/tiny_{name}.gguf", gguf.typed(metadata), stored)
        logits = reference_transformer.logits(metadata, values, ids)[-1]
        result["logits"][f"tiny_{name}.gguf"] = [float(f"{value:.9g}") for value in logits]
    with open(f"{folder}/tiny_quantized.json", "w") as out:
        json.dump(result, out, separators=(",", ":"))
        out.write("\n")


main()

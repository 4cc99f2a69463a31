"""Makes tests/data/tiny/tiny_long.gguf and tiny_long.json from a fixed seed.

  make_tiny_long.py TINY_FOLDER SCRATCH

A llama with a context of 4,096, three query heads per KV head and heads wider than the model. The
logits come from reference_transformer.py, for the file as it is and for each RoPE scaling set on
it (`metadata` and `rope_freqs` in the JSON say how). SCRATCH receives one GGUF per case, to be run
through llama.cpp: see README.md.
"""
import json
import sys

import numpy as np

import gguf
import reference_transformer

LAYERS, WIDTH, HEADS, KV_HEADS, HEAD_DIM, FFN = 2, 64, 6, 2, 32, 96
TOKENS = 2500
POSITIONS = [0, 63, 64, 255, 256, 257, 511, 512, 1023, 1024, 1500, 2047, 2048, 2303, 2304, 2499]
SCALED_POSITIONS = [256, 1024, 2048, 2499]
CASES = {
    "none": {},
    "linear": {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0},
    "linear_old": {"llama.rope.scale_linear": 8.0},
    "yarn": {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0,
             "llama.rope.scaling.original_context_length": 1024},
    "freqs": {},
}


def kind_of(value):
    return 8 if isinstance(value, str) else 6 if isinstance(value, float) else 4


def entries(tiny):
    """The tiny model's tokenizer, our own sizes."""
    result = gguf.typed(tiny)
    sizes = {"context_length": 4096, "embedding_length": WIDTH, "block_count": LAYERS,
             "feed_forward_length": FFN, "attention.head_count": HEADS,
             "attention.head_count_kv": KV_HEADS, "attention.key_length": HEAD_DIM,
             "attention.value_length": HEAD_DIM, "rope.dimension_count": HEAD_DIM}
    result.update({"llama." + key: (4, value) for key, value in sizes.items()})
    result["general.name"] = (8, "tiny_long")
    return result


def weights(vocabulary):
    random = np.random.default_rng(20_481)

    def matrix(rows, columns, deviation):
        return (random.standard_normal((rows, columns)) * deviation).astype("<f4")

    def norm():
        return (1 + 0.1 * random.standard_normal(WIDTH)).astype("<f4")

    tensors = {"token_embd.weight": matrix(vocabulary, WIDTH, 0.5), "output_norm.weight": norm()}
    for layer in range(LAYERS):
        # Queries and keys large enough that attention picks tokens, however far away.
        for name, values in {
            "attn_norm": norm(), "attn_q": matrix(HEADS * HEAD_DIM, WIDTH, 0.2),
            "attn_k": matrix(KV_HEADS * HEAD_DIM, WIDTH, 0.2),
            "attn_v": matrix(KV_HEADS * HEAD_DIM, WIDTH, 0.15),
            "attn_output": matrix(WIDTH, HEADS * HEAD_DIM, 0.1), "ffn_norm": norm(),
            "ffn_gate": matrix(FFN, WIDTH, 0.1), "ffn_up": matrix(FFN, WIDTH, 0.1),
            "ffn_down": matrix(WIDTH, FFN, 0.1),
        }.items():
            tensors[f"blk.{layer}.{name}.weight"] = values
    return tensors


def main():
    folder, scratch = sys.argv[1:]
    tiny, _ = gguf.read(f"{folder}/tiny.gguf")
    base = entries(tiny)
    tensors = weights(len(tiny["tokenizer.ggml.tokens"]))
    gguf.write(f"{folder}/tiny_long.gguf", base, tensors)
    ids = np.random.default_rng(7).integers(11, 267, TOKENS).tolist()
    rope_freqs = (1 + 0.25 * np.arange(HEAD_DIM // 2)).astype("<f4")
    cases = {}
    for name, changes in CASES.items():
        metadata = base | {key: (kind_of(value), value) for key, value in changes.items()}
        extra = {"rope_freqs.weight": rope_freqs} if name == "freqs" else {}
        path = f"{scratch}/tiny_long_{name}.gguf"
        gguf.write(path, metadata, tensors | extra)
        rows = reference_transformer.logits(*gguf.read(path), ids)
        positions = POSITIONS if name == "none" else SCALED_POSITIONS
        cases[name] = {
            "metadata": changes,
            "rope_freqs": rope_freqs.tolist() if name == "freqs" else [],
            "positions": positions,
            "logits": [[float(f"{value:.9g}") for value in rows[i]] for i in positions],
        }
        np.save(f"{scratch}/tiny_long_{name}.npy", rows)
    with open(f"{folder}/tiny_long.json", "w") as out:
        json.dump({"ids": ids, "cases": cases}, out, separators=(",", ":"))
        out.write("\n")
    json.dump(ids, open(f"{scratch}/tiny_long_ids.json", "w"))


main()

"""The llama forward pass from its formulas, in float64: slow, plain, and written apart from the
engine. Covers grouped-query attention and every RoPE scaling that the engine accepts.

  reference_transformer.py check TINY_FOLDER     against the committed logits.json
"""
import json
import math
import sys

import numpy as np

import gguf


def rotation(metadata, tensors, dims):
    """Frequencies [dims / 2] and what cosines and sines are multiplied by."""
    base = metadata.get("llama.rope.freq_base", 10000.0)
    theta = base ** (-2.0 * np.arange(dims // 2) / dims)
    if "rope_freqs.weight" in tensors:
        theta = theta / tensors["rope_freqs.weight"]
    kind = metadata.get("llama.rope.scaling.type", "linear")
    factor = metadata.get("llama.rope.scaling.factor",
                          metadata.get("llama.rope.scale_linear", 1.0))
    if kind == "none":
        return theta, 1.0
    if kind == "linear":
        return theta / factor, 1.0
    assert kind == "yarn"
    original = metadata.get("llama.rope.scaling.original_context_length",
                            metadata["llama.context_length"])

    def correction(turns):
        return dims * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = min(max(math.floor(correction(32)), 0), dims - 1)
    high = min(max(math.ceil(correction(1)), 0), dims - 1)
    position = (np.arange(dims // 2) - low) / max(0.001, high - low)
    keep = 1 - np.clip(position, 0, 1)
    return theta / factor * (1 - keep) + theta * keep, 1 + 0.1 * math.log(factor)


def rotate(x, theta, magnitude):
    """x: [tokens][heads][head_dim]; pairs are (2i, 2i + 1)."""
    angles = np.arange(len(x))[:, None] * theta
    cos, sin = np.cos(angles)[:, None] * magnitude, np.sin(angles)[:, None] * magnitude
    out = x.copy()
    dims = 2 * len(theta)
    even, odd = x[..., 0:dims:2], x[..., 1:dims:2]
    out[..., 0:dims:2] = even * cos - odd * sin
    out[..., 1:dims:2] = even * sin + odd * cos
    return out


def attend(q, k, v):
    """Causal attention of one head, [tokens][head_dim] each, unscaled queries."""
    scores = q @ k.T / math.sqrt(q.shape[1])
    scores[np.triu_indices(len(q), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


def logits(metadata, tensors, ids):
    """[tokens][vocabulary]"""
    heads = metadata["llama.attention.head_count"]
    kv_heads = metadata.get("llama.attention.head_count_kv", heads)
    head_dim = metadata.get("llama.attention.key_length",
                            metadata["llama.embedding_length"] // heads)
    epsilon = metadata["llama.attention.layer_norm_rms_epsilon"]
    theta, magnitude = rotation(metadata, tensors,
                                metadata.get("llama.rope.dimension_count", head_dim))

    def norm(x, weight):
        return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + epsilon) * weight

    x = tensors["token_embd.weight"][ids]
    for layer in range(metadata["llama.block_count"]):
        def weight(name):
            return tensors[f"blk.{layer}.{name}.weight"]

        h = norm(x, weight("attn_norm"))
        q = rotate((h @ weight("attn_q").T).reshape(len(ids), heads, head_dim), theta, magnitude)
        k = rotate((h @ weight("attn_k").T).reshape(len(ids), kv_heads, head_dim), theta, magnitude)
        v = (h @ weight("attn_v").T).reshape(len(ids), kv_heads, head_dim)
        shared = heads // kv_heads
        out = np.concatenate([attend(q[:, i], k[:, i // shared], v[:, i // shared])
                              for i in range(heads)], axis=1)
        x = x + out @ weight("attn_output").T
        h = norm(x, weight("ffn_norm"))
        gate = h @ weight("ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ weight("ffn_up").T)) @ weight("ffn_down").T
    h = norm(x, tensors["output_norm.weight"])
    return h @ tensors.get("output.weight", tensors["token_embd.weight"]).T


def divergence(p, q):
    """KL of the distributions of two rows of logits, in nats."""
    p, q = p - p.max(), q - q.max()
    p, q = p - np.log(np.exp(p).sum()), q - np.log(np.exp(q).sum())
    return float((np.exp(p) * (p - q)).sum())


def check(folder):
    expected = json.load(open(f"{folder}/logits.json"))
    for name in ["tiny", "tiny_freqs", "tiny_linear", "tiny_linear_old", "tiny_yarn"]:
        entry = expected[name + ".gguf"]
        found = logits(*gguf.read(f"{folder}/{name}.gguf"), entry["ids"])[-1]
        wanted = np.array(entry["logits"])
        print(f"{name:16} KL {divergence(wanted, found):.1e}"
              f"  largest difference {np.abs(wanted - found).max():.1e}")


if __name__ == "__main__":
    assert sys.argv[1] == "check"
    check(sys.argv[2])

"""Turns llama.cpp's distributions into the small files of tests/data/kl.

  make_kl_data.py IDS.json F32 Q4_1_F16KV Q4_1_F32KV F32_F16KV OUT_FOLDER

The four inputs are written by `llama_cpp.mjs probabilities`: [tokens][vocabulary] float32.

OUT_FOLDER/tokens.json    the ids of text.txt
OUT_FOLDER/figures.json   mean KL divergences and the top token after each position
OUT_FOLDER/top64.bin      per sampled position, little-endian: int32 position, 64 x int32 ids (most
                          probable first), 64 x float32 log-probabilities, float32 log of the mass
                          of all other tokens
"""
import json
import sys

import numpy as np

VOCABULARY = 49152
STRIDE = 4
TOP = 64


def rows(path):
    return np.memmap(path, dtype="<f4", mode="r").reshape(-1, VOCABULARY)


def logs(row):
    # The tiniest probabilities are float32 zeros; a floor far below all others stands for them.
    values = np.maximum(row.astype(np.float64), 1e-45)
    return np.log(values / values.sum())


def compare(p_rows, q_rows):
    """Mean and maximum KL(p || q) in nats, and the share of equal top tokens."""
    divergences, equal = [], 0
    for p_row, q_row in zip(p_rows, q_rows):
        p, q = logs(p_row), logs(q_row)
        divergences.append(float((np.exp(p) * (p - q)).sum()))
        equal += int(p.argmax() == q.argmax())
    return {"mean": float(np.mean(divergences)), "max": float(np.max(divergences)),
            "top1_agreement": equal / len(divergences)}


def main():
    ids_path, *paths, folder = sys.argv[1:]
    f32, q4_1, q4_1_f32kv, f32_f16kv = (rows(path) for path in paths)
    ids = json.load(open(ids_path))
    assert all(len(r) == len(ids) for r in (f32, q4_1, q4_1_f32kv, f32_f16kv))
    figures = {
        "source": "llama.cpp v0.4.0 in node-llama-cpp 3.21.1, CPU, 2 threads, flash attention off,"
                  " one sequence from position 0; see tests/oracle/README.md",
        "positions": len(ids),
        "kl_f32_to_q4_1": compare(f32, q4_1),
        "kl_f32_to_q4_1_with_f32_kv": compare(f32, q4_1_f32kv),
        "kl_f32_to_f32_with_f16_kv": compare(f32, f32_f16kv),
        "f32_top1": [int(row.argmax()) for row in f32],
    }
    with open(f"{folder}/figures.json", "w") as out:
        json.dump(figures, out, indent=None, separators=(",", ":"))
        out.write("\n")
    with open(f"{folder}/tokens.json", "w") as out:
        json.dump(ids, out, separators=(",", ":"))
        out.write("\n")
    with open(f"{folder}/top64.bin", "wb") as out:
        for position in range(STRIDE - 1, len(ids), STRIDE):
            log = logs(f32[position])
            order = np.argsort(-log, kind="stable")
            np.array([position], "<i4").tofile(out)
            order[:TOP].astype("<i4").tofile(out)
            log[order[:TOP]].astype("<f4").tofile(out)
            np.array([np.log(np.exp(log[order[TOP:]]).sum())], "<f4").tofile(out)
    print({k: v for k, v in figures.items() if k.startswith("kl")})
    targets = [float(-logs(row)[i]) for row, i in zip(f32, ids[1:])]
    print("perplexity of the text, F32:", float(np.exp(np.mean(targets))))


main()

"""How far llama.cpp's distributions are from the reference formula.

  compare_tiny_long.py SCRATCH      after llama_cpp.mjs wrote SCRATCH/tiny_long_<case>.probabilities
"""
import sys

import numpy as np

import reference_transformer

for case in ["none", "linear", "linear_old", "yarn", "freqs"]:
    rows = np.load(f"{sys.argv[1]}/tiny_long_{case}.npy")
    found = np.fromfile(f"{sys.argv[1]}/tiny_long_{case}.probabilities", "<f4")
    found = np.log(found.reshape(len(rows), -1).astype(np.float64))
    divergences = [reference_transformer.divergence(p, q) for p, q in zip(rows, found)]
    print(f"{case:12} mean KL {np.mean(divergences):.1e}  largest {np.max(divergences):.1e}")

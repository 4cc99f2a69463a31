// Row-wise arithmetic between the products: norm, rotation, activation, residual.
//
// Each function is one row on one worker; the float order is fixed (16 lanes and one reduction
// tree), so all instruction sets give the same bits. exp is our own (glibc's differs by release).
#pragma once

namespace kernels {

// out[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i].   Requires: width % 16 == 0.
void RmsNorm(const float* x, const float* weight, float epsilon, int width, float* out);

// Rotates dimension pairs (i, i + rope_dims / 2) of one head in place; the rest passes unchanged.
//   cosines, sines  [rope_dims / 2] of the token's position
void RotateHead(const float* cosines, const float* sines, int rope_dims, float* head);

// out[i] = silu(gate[i]) * up[i].   Requires: width % 16 == 0.
void SwiGlu(const float* gate, const float* up, int width, float* out);

// x[i] += y[i].
void AddInPlace(const float* y, int width, float* x);

// Fills the rotation tables for positions [0, position_count).
//
//   frequencies  [rope_dims / 2] radians per position
//   magnitude    multiplies cosine and sine (YaRN), 1 otherwise
//   cosines, sines  [position_count][rope_dims / 2]
//
// Accuracy: angle reduced in double, own polynomials; the same bits on every machine.
void FillRotationTables(const double* frequencies, int rope_dims, int position_count,
                        float magnitude, float* cosines, float* sines);

}  // namespace kernels

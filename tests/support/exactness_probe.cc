// Computes a prompt cold in a process of its own and writes the bits of logits, keys and values.
//
//   exactness_probe MODEL OUT WORKERS CHUNK_ROWS BLOCK_SEED TOKEN...
//
// Tests compare the file with what a warm cache gives. INGLENOOK_ISA chooses the kernels.
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <vector>

#include "kernels/isa.h"
#include "tests/support/model_run.h"

int main(int argc, char** argv) {
  constexpr int kFirstToken = 6;
  if (argc <= kFirstToken) {
    std::cerr << "usage: exactness_probe MODEL OUT WORKERS CHUNK_ROWS BLOCK_SEED TOKEN...\n";
    return 2;
  }
  const auto isa = kernels::SelectIsa();
  if (!isa) {
    std::cerr << isa.error() << "\n";
    return 2;
  }
  try {
    std::vector<int> ids;
    for (int i = kFirstToken; i < argc; ++i) ids.push_back(std::atoi(argv[i]));
    support::ModelRun::Options options;
    options.workers = std::atoi(argv[3]);
    options.context_tokens_max = static_cast<int>(ids.size()) + 64;
    options.block_seed = static_cast<std::uint64_t>(std::atoll(argv[5]));
    const auto run = support::ModelRun::Load(argv[1], options);
    run->Prefill(support::TokenIds(ids), std::atoi(argv[4]));
    const std::vector<float> logits = run->LastLogits();
    const std::vector<std::byte> stored = run->StoredKeysAndValues();
    std::ofstream out(argv[2], std::ios::binary);
    out.write(reinterpret_cast<const char*>(logits.data()),
              static_cast<std::streamsize>(logits.size() * sizeof(float)));
    out.write(reinterpret_cast<const char*>(stored.data()),
              static_cast<std::streamsize>(stored.size()));
    return out ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// Runs a fuzz target without libFuzzer, so that each normal test run exercises it.
//
//   fuzz_<target> CORPUS_FOLDER [MUTATIONS [SEED]]
//
// Every file of the corpus is run as it is, then MUTATIONS (default 4,000) inputs made from it with
// a fixed seed: the same inputs on every machine. The input that breaks the target is written to
// crash-<seed>-<number> in the current folder; give its folder as the corpus to run it again.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kInputBytesMax = 1 << 16;

// What is being run, for the handlers below.
const Bytes* running_input = nullptr;
std::array<char, 64> running_name{};

void SaveRunningInput() {
  if (running_input == nullptr) return;
  const int file = open(running_name.data(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return;
  const auto written = write(file, running_input->data(), running_input->size());
  close(file);
  if (written >= 0) {
    constexpr std::string_view kMessage = "The input was written to ";
    (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
    (void)!write(STDERR_FILENO, running_name.data(),
                 std::char_traits<char>::length(running_name.data()));
    (void)!write(STDERR_FILENO, "\n", 1);
  }
  running_input = nullptr;
}

void OnAbort(int signal_number) {
  SaveRunningInput();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

std::vector<Bytes> ReadCorpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Mutator {
 public:
  Mutator(std::vector<Bytes> corpus, std::uint64_t seed)
      : corpus_(std::move(corpus)), random_(seed) {}

  Bytes Next() {
    Bytes input = corpus_[Below(corpus_.size())];
    for (std::size_t changes = 1 + Below(6); changes > 0; --changes) Change(input);
    if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
    return input;
  }

 private:
  std::size_t Below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  void Change(Bytes& input) {
    constexpr std::array<std::uint8_t, 12> kBytes = {0,   1,   0x7F, 0x80, 0xFF, '"',
                                                     '{', '}', '<',  '\\', '\n', 0xC3};
    const std::size_t at = Below(input.size());
    const auto where = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (input.empty() ? 2 : Below(8)) {
      case 0:
        input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << Below(8)));
        break;
      case 1:
        input[at] = kBytes[Below(kBytes.size())];
        break;
      case 2:
        input.insert(where, kBytes[Below(kBytes.size())]);
        break;
      case 3:
        input.erase(where, where + static_cast<std::ptrdiff_t>(Below(input.size() - at) + 1));
        break;
      case 4: {  // a piece once more
        const Bytes piece(where, where + static_cast<std::ptrdiff_t>(
                                             std::min<std::size_t>(64, input.size() - at)));
        input.insert(where, piece.begin(), piece.end());
        break;
      }
      case 5:  // eight bytes of a number
        for (std::size_t i = 0; i < 8; ++i) {
          if (at + i < input.size()) input[at + i] = i < Below(9) ? 0xFF : 0;
        }
        break;
      case 6: {  // the end of another input
        const Bytes& other = corpus_[Below(corpus_.size())];
        const auto from = static_cast<std::ptrdiff_t>(Below(other.size()));
        input.resize(at);
        input.insert(input.end(), other.begin() + from, other.end());
        break;
      }
      default:
        input.resize(at);
    }
  }

  std::vector<Bytes> corpus_;
  std::mt19937_64 random_;
};

void RunOne(const Bytes& input, std::uint64_t seed, long number) {
  const std::string name = "crash-" + std::to_string(seed) + "-" + std::to_string(number);
  running_name.fill(0);
  std::copy(name.begin(), name.end(), running_name.begin());
  running_input = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  running_input = nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4 || !std::filesystem::is_directory(argv[1])) {
    std::cerr << "usage: fuzz_<target> CORPUS_FOLDER [MUTATIONS [SEED]]\n";
    return 2;
  }
  const long mutation_count = argc > 2 ? std::atol(argv[2]) : 4000;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::signal(SIGABRT, OnAbort);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(SaveRunningInput);

  const std::vector<Bytes> corpus = ReadCorpus(argv[1]);
  if (corpus.empty()) {
    std::cerr << argv[1] << " holds no inputs; a fuzz target needs at least one.\n";
    return 1;
  }
  long number = 0;
  for (const Bytes& input : corpus) RunOne(input, seed, number++);
  Mutator mutator(corpus, seed);
  for (long i = 0; i < mutation_count; ++i) RunOne(mutator.Next(), seed, number++);
  std::cerr << corpus.size() << " inputs and " << mutation_count << " mutations ran.\n";
  return 0;
}

// A read-only file as bytes.
//
// The bytes are read into anonymous memory instead of mapped: another process may truncate or
// rewrite a mapped file at any time, which would be a SIGBUS in the middle of a step. Reading costs
// one copy from the kernel's own cache (about 0.1 s per 500 MB), in huge pages where the system has
// them, and the memory goes back once the weights are packed.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>

namespace engine {

// Thread: any; constant after Open. Ownership: move-only, gives the memory back when destroyed.
class MappedFile {
 public:
  // Returns: a sentence when the file is missing, not a regular file, not readable, empty, shrinks
  // while being read, or memory for it can't be had.
  [[nodiscard]] static std::expected<MappedFile, std::string> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<std::byte> bytes) : bytes_(bytes) {}
  void Release();

  std::span<std::byte> bytes_;
};

}  // namespace engine

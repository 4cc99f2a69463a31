#include "engine/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "engine/gguf_value.h"

namespace engine {
namespace {

// Closes the file at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

std::unexpected<std::string> Fail(const std::string& path, const std::string& why) {
  return std::unexpected(Printable(path, 4096) + ": " + why);
}

std::string OpenFailure(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "there is no such file; name a GGUF model (model.file), or get a small one with "
             "scripts/get-model smollm2-135m";
    case EACCES:
    case EPERM:
      return "no permission to read the file; allow this user to read it and its folders";
    default:
      return "can't open the file: " + std::generic_category().message(error);
  }
}

std::uint64_t PhysicalBytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

// Returns: an empty string, or why the whole of `bytes` could not be read.
std::string ReadAll(int file, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return "reading fails at byte " + std::to_string(done) + ": " +
             std::generic_category().message(errno) + "; check the disk";
    }
    if (count == 0) {
      return "the file was cut short while being read, found " + std::to_string(done) +
             " bytes, expected " + std::to_string(bytes.size()) +
             "; wait until it is written completely";
    }
    done += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace

std::expected<MappedFile, std::string> MappedFile::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) return Fail(path, OpenFailure(ENOENT));
  // Without O_NONBLOCK a FIFO would wait for a writer, perhaps forever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return Fail(path, OpenFailure(errno));
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) return Fail(path, OpenFailure(errno));
  if (S_ISDIR(status.st_mode)) {
    return Fail(path, "this is a folder; give the path of a GGUF model in it");
  }
  if (!S_ISREG(status.st_mode)) {
    return Fail(path,
                "this is no regular file (a pipe, socket or device); give the path of a "
                "GGUF model on disk");
  }
  if (status.st_size <= 0) return Fail(path, "the file is empty; fetch it again");

  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const std::string too_large = "the file has " + std::to_string(bytes) +
                                " bytes, more than the memory of this machine; use a smaller model";
  if (bytes > PhysicalBytes()) return Fail(path, too_large);
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Fail(path, too_large);
  MappedFile result({static_cast<std::byte*>(memory), static_cast<std::size_t>(bytes)});
  // Only advice: without huge pages reading takes a little longer.
  ::madvise(memory, result.bytes_.size(), MADV_HUGEPAGE);
  const std::string failure = ReadAll(file.number(), result.bytes_);
  if (!failure.empty()) return Fail(path, failure);
  if (::mprotect(memory, result.bytes_.size(), PROT_READ) != 0) {
    return Fail(path, "can't protect the file's bytes in memory: " +
                          std::generic_category().message(errno));
  }
  return result;
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    Release();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() { Release(); }

void MappedFile::Release() {
  if (bytes_.empty()) return;
  const int result = ::munmap(bytes_.data(), bytes_.size());
  assert(result == 0);
  static_cast<void>(result);
  bytes_ = {};
}

}  // namespace engine

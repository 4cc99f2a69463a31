// One service per node on one machine, and where its broker is.
//
// <folder>/<node>.lock is locked as long as the service lives (the kernel lets go of it whatever
// happens) and holds its process id. <folder>/<node>.json tells `ask` the broker's address.
//
// Thread: one.
#pragma once

#include <expected>
#include <string>

namespace service {

class Instance {
 public:
  // Returns: a sentence when another service with this node runs.
  [[nodiscard]] static std::expected<Instance, std::string> Acquire(const std::string& folder,
                                                                    const std::string& node);
  Instance(Instance&& other) noexcept;
  Instance& operator=(Instance&& other) = delete;
  ~Instance();  // removes the address

  // Tells `ask` where the broker is.
  [[nodiscard]] std::expected<void, std::string> WriteBrokerUrl(const std::string& url) const;

  // The broker of the running service with this node. Returns: a sentence when there is none.
  [[nodiscard]] static std::expected<std::string, std::string> BrokerUrl(const std::string& folder,
                                                                         const std::string& node);

 private:
  Instance(int descriptor, std::string address_file)
      : descriptor_(descriptor), address_file_(std::move(address_file)) {}

  int descriptor_;
  std::string address_file_;
};

}  // namespace service

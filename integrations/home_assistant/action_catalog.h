// All calls of a home, enumerated: device × tool × value.
//
// A head is one call without its number: "bedside lamp: set_color blue" is a whole call,
// "bedside lamp: set_brightness" is followed by " " and a number. A tool fits a device by class and
// capability. What is denied stays in the catalog: the home knows it, the policy forbids it.
//
// Thread: any; never changes. Ownership: the home outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/home.h"
#include "integrations/integration.h"

namespace integrations::home_assistant {

struct CatalogEntry {
  std::uint32_t device = 0;  // index in home.house.devices
  std::uint32_t tool = 0;    // index in home.tools.tools
  std::string value;         // of an enum argument; empty: none, or a number that follows
};

// One call, as it was answered.
struct Call {
  std::uint32_t device = 0;
  std::uint32_t tool = 0;
  std::string value;  // empty: the tool takes none
};

class ActionCatalog {
 public:
  // Requires: a sorted home (home_assistant/prefix.h).
  explicit ActionCatalog(const Home& home);

  const std::vector<CatalogEntry>& entries() const { return entries_; }
  const AnswerLanguage& language() const { return language_; }

  // The call that `text` is, if it is the whole of head `index` with a value in bounds.
  std::optional<Call> CallFrom(int index, std::string_view text) const;
  // The entries of one device, [first, last).
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  Range EntriesOf(std::uint32_t device) const { return ranges_[device]; }

 private:
  void AddCalls(std::uint32_t device, std::uint32_t tool);

  const Home* home_;
  std::vector<CatalogEntry> entries_;  // by device, tool, value
  std::vector<Range> ranges_;          // by device
  AnswerLanguage language_;
};

// By class and capability.
bool Fits(const Tool& tool, const Device& device);

}  // namespace integrations::home_assistant

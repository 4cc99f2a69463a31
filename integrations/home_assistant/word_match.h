// Words narrow the choice: which calls an utterance may mean, and how much its words favour each.
//
// The sentence decides whether anything may be done at all (home_assistant/sentence.h). Then each
// device is scored by the words that name it (name, alias, area, floor, class), each of its calls
// by verb, particle, value and unit, and the calls near the best one are left to the model, with
// the scores as priors. Where the words leave one call, one is left; where they name no device,
// none.
//
// Thread: any; never changes. Ownership: home and catalog outlive it. Cost: about 0.1 ms for 50
// devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/home.h"
#include "integrations/home_assistant/action_catalog.h"
#include "integrations/home_assistant/lexicon.h"
#include "integrations/home_assistant/sentence.h"
#include "integrations/integration.h"

namespace integrations::home_assistant {

// At most this many calls are left to the model.
inline constexpr std::size_t kCandidatesMax = 8;

class WordMatch {
 public:
  WordMatch(const Home& home, const ActionCatalog& catalog);

  AllowedAnswers Match(std::string_view utterance, std::string_view area) const;

  // The devices that the words point to about equally, by index; for asking back.
  std::vector<std::uint32_t> DevicesNamed(std::string_view utterance, std::string_view area) const;

 private:
  struct DeviceScore {
    double score = 0;
    bool named = false;      // a whole name or alias was said
    double unexplained = 0;  // weight of what was said and is not its name
    double missing = 0;      // weight of what its nearest name has and was not said
  };
  struct Candidate {
    std::uint32_t entry = 0;
    double score = 0;
    bool likely = false;  // something that was said speaks for its tool
  };
  // What was said, sorted by what it can be.
  struct Said;

  Said SaidIn(const Reading& reading) const;
  void AddNouns(const std::vector<Word>& words, std::size_t begin, Said& said) const;
  void AddValues(const std::vector<Word>& words, Said& said) const;
  bool IsPartOfPhrase(const std::vector<Word>& words, std::size_t i) const;
  std::vector<DeviceScore> ScoreDevices(const Said& said, std::string_view area) const;
  DeviceScore ScoreDevice(std::uint32_t device, const Said& said, std::string_view area) const;
  void LevelUnnamed(std::string_view area, std::vector<DeviceScore>& scores) const;
  double ToolScore(std::uint32_t tool, const Said& said) const;
  double ValueScore(const CatalogEntry& entry, const Said& said) const;
  std::vector<Candidate> Candidates(const Said& said, std::string_view area, bool& sure) const;

  const Home* home_;
  const ActionCatalog* catalog_;
  Lexicon lexicon_;
};

}  // namespace integrations::home_assistant

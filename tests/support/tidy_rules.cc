#include "tests/support/tidy_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>

namespace support {
namespace {

using Findings = std::vector<std::string>;

bool IsHeader(std::string_view path) { return path.ends_with(".h"); }
bool IsSource(std::string_view path) { return path.ends_with(".cc"); }
bool IsCode(std::string_view path) { return IsHeader(path) || IsSource(path); }

// This file and its test hold the words that they look for.
bool HoldsTheRules(std::string_view path) {
  return path.starts_with("tests/support/tidy_rules") || path == "tests/tidy_test.cc";
}

std::string At(std::string_view path, std::size_t line_index, std::string_view what) {
  return std::string(path) + ":" + std::to_string(line_index + 1) + ": " + std::string(what);
}

struct Include {
  std::string path;
  bool is_ours;  // in quotes
};

std::optional<Include> IncludeOn(std::string_view line) {
  constexpr std::string_view kDirective = "#include ";
  if (!line.starts_with(kDirective)) return std::nullopt;
  line.remove_prefix(kDirective.size());
  if (line.empty()) return std::nullopt;
  const char close = line.front() == '<' ? '>' : '"';
  const std::size_t end = line.find(close, 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(1, end - 1)), close == '"'};
}

// Calls use(line_index, include) for each include of a file.
template <typename Use>
void ForEachInclude(std::string_view text, Use use) {
  const auto lines = Lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto include = IncludeOn(lines[i])) use(i, *include);
  }
}

struct Arrow {
  std::string_view from;  // a folder, or one file of it
  std::string_view to;    // the beginning of what it may include
};

constexpr std::array kArrows = {
    Arrow{"kernels/", "kernels/"},
    Arrow{"cache/", "cache/"},
    Arrow{"cache/", "kernels/numa_memory.h"},
    Arrow{"engine/", "engine/"},
    Arrow{"engine/", "cache/"},
    Arrow{"engine/", "kernels/"},
    Arrow{"integrations/", "integrations/"},
    Arrow{"service/", "service/"},
    Arrow{"service/", "engine/"},
    Arrow{"service/", "integrations/integration.h"},
    Arrow{"service/", "integrations/home.h"},
    Arrow{"service/main.cc", "integrations/"},
    Arrow{"tests/", ""},
};

struct Library {
  std::string_view name;
  std::string_view header;  // how its headers begin
  std::string_view owner;   // the folder, or the beginning of the path, of its one includer
  bool has_one_includer;
};

constexpr std::array kLibraries = {
    Library{"oneDNN", "dnnl.h", "kernels/", true},
    Library{"oneDNN", "oneapi/", "kernels/", true},
    Library{"OpenMP", "omp.h", "kernels/parallel.", true},
    Library{"libnuma", "numa.h", "kernels/numa_memory.", true},
    Library{"libnuma", "numaif.h", "kernels/numa_memory.", true},
    Library{"utf8proc", "utf8proc.h", "engine/unicode.", true},
    Library{"xxHash", "xxhash.h", "engine/digest.", true},
    Library{"Paho", "mqtt/", "service/mqtt_transport.", true},
    Library{"Paho", "MQTT", "service/mqtt_transport.", true},
    Library{"yaml-cpp", "yaml-cpp/", "service/yaml_loader.", true},
    Library{"CLI11", "CLI/", "service/main.", true},
    Library{"spdlog", "spdlog/", "service/log.", true},
    Library{"fmt", "fmt/", "service/log.", true},
    Library{"JSON", "nlohmann/", "service/", false},
    Library{"JSON", "nlohmann/", "integrations/", false},
    Library{"JSON", "nlohmann/", "tests/", false},
    Library{"the AVX intrinsics", "immintrin.h", "kernels/avx2/", false},
    Library{"the AVX intrinsics", "immintrin.h", "kernels/avx512/", false},
    Library{"the AVX intrinsics", "immintrin.h", "kernels/amx/", false},
};

// Headers of the operating system, free for all.
constexpr std::array<std::string_view, 16> kSystemHeaders = {
    "sys/",      "linux/", "netinet/", "arpa/",   "unistd.h", "fcntl.h", "poll.h",   "sched.h",
    "pthread.h", "time.h", "signal.h", "netdb.h", "cpuid.h",  "spawn.h", "dirent.h", "ifaddrs.h"};

template <typename Texts>
bool StartsWithOneOf(std::string_view text, const Texts& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

bool IsStandardHeader(std::string_view header) {
  return header.find_first_of("./") == std::string_view::npos;
}

struct SizeException {
  std::string_view path;
  std::size_t lines;  // the limit for this file
};

// One line each, the reason beside it.
constexpr std::array kSizeExceptions = {
    SizeException{"engine/engine.h", 164},  // the one interface that service/ sees
};

std::size_t LinesAllowed(std::string_view path) {
  for (const SizeException& exception : kSizeExceptions) {
    if (exception.path == path) return exception.lines;
  }
  constexpr std::size_t kSourceLines = 500;
  constexpr std::size_t kHeaderLines = 150;
  return IsHeader(path) ? kHeaderLines : kSourceLines;
}

std::size_t Columns(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

// Functions at the left margin, which is where clang-format puts them: from the line where the
// name begins to the closing brace.
void CheckFunctions(std::string_view path, const std::vector<std::string_view>& lines,
                    Findings& findings) {
  constexpr std::size_t kFunctionLines = 70;
  constexpr std::array<std::string_view, 6> kNoFunctions = {"class",     "struct", "enum",
                                                            "namespace", "union",  "extern"};
  std::size_t start = 0;  // line of the open function, counted from 1; 0: none
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (line.empty() || line.front() == '#' || line.starts_with("//")) continue;
    if (line == "}" && start > 0) {
      const std::size_t count = i - start + 2;
      if (count > kFunctionLines) {
        findings.push_back(
            At(path, start - 1, "a function of " + std::to_string(count) + " lines; at most 70"));
      }
    }
    // A definition is the only thing at the margin that has a parenthesis and does not end with
    // ';'.
    const bool is_at_margin = line.front() != ' ';
    if (is_at_margin) start = 0;
    if (is_at_margin && line.find('(') != std::string_view::npos && !line.ends_with(";") &&
        !line.ends_with("}") && !StartsWithOneOf(line, kNoFunctions)) {
      start = i + 1;
    }
  }
}

struct ForbiddenWord {
  std::string_view word;
  std::string_view why;
  std::string_view allowed;  // the beginning of the paths where it may stand; "-": nowhere
};

constexpr std::array kForbiddenWords = {
    ForbiddenWord{"FIXME", "do it, or file it", "-"},
    ForbiddenWord{"TODO", "do it, or file it", "-"},
    ForbiddenWord{"std::cout", "only service/ speaks to people", "service/"},
    ForbiddenWord{"getenv(", "nothing below service/ reads the environment", "service/"},
    ForbiddenWord{"using namespace", "name what is used", "tests/"},
    ForbiddenWord{"NDEBUG", "asserts stay in every build", "-"},
    ForbiddenWord{"shared_ptr", "one owner", "-"},
    ForbiddenWord{"DISABLED_", "a test runs or goes", "-"},
    ForbiddenWord{"GTEST_SKIP", "a test that can't run here is not registered", "-"},
};

struct WordException {
  std::string_view path;
  std::string_view word;
};

constexpr std::array kWordExceptions = {
    WordException{"kernels/isa.cc", "getenv("},     // INGLENOOK_ISA
    WordException{"service/log.cc", "shared_ptr"},  // the logging library hands them out
};

bool IsWordAllowed(std::string_view path, const ForbiddenWord& forbidden) {
  if (path.starts_with("tests/")) {  // tests read the environment and print
    if (forbidden.word == "getenv(" || forbidden.word == "std::cout") return true;
  }
  for (const WordException& exception : kWordExceptions) {
    if (exception.path == path && exception.word == forbidden.word) return true;
  }
  return path.starts_with(forbidden.allowed);
}

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// True when `word` stands in `text` and is not the end or the beginning of a longer name.
bool Names(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !(IsWordCharacter(text[at - 1]) || text[at - 1] == '/');
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || !IsWordCharacter(text[end]))) return true;
  }
  return false;
}

bool IsTopFolder(std::string_view folder) {
  constexpr std::array<std::string_view, 9> kFolders = {"kernels",      "cache",   "engine",
                                                        "integrations", "service", "config",
                                                        "tests",        "scripts", "docs"};
  return std::find(kFolders.begin(), kFolders.end(), folder) != kFolders.end();
}

bool IsInTree(const SourceTree& tree, std::string_view path) {
  if (path.ends_with("/")) path.remove_suffix(1);
  if (tree.contains(std::string(path))) return true;
  const auto next = tree.lower_bound(std::string(path) + "/");
  return next != tree.end() && next->first.starts_with(std::string(path) + "/");
}

// Finds `path` in back-ticks that name no file or folder. Patterns ("kernels/*/dot.cc", "x.h/.cc",
// "tests/<folder>/") are left alone.
void CheckQuotedPaths(const SourceTree& tree, const std::string& path, Findings& findings) {
  const auto lines = Lines(tree.at(path));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t open = lines[i].find('`'); open != std::string_view::npos;) {
      const std::size_t close = lines[i].find('`', open + 1);
      if (close == std::string_view::npos) break;
      std::string_view quoted = lines[i].substr(open + 1, close - open - 1);
      quoted = quoted.substr(0, quoted.find(' '));
      const bool is_pattern = quoted.find_first_of("*<>{}…$") != std::string_view::npos;
      if (IsTopFolder(FolderOf(quoted)) && !is_pattern &&
          quoted.find("/.") == std::string_view::npos && !quoted.starts_with("tests/data") &&
          !IsInTree(tree, quoted)) {
        findings.push_back(At(path, i, "there is no " + std::string(quoted)));
      }
      open = lines[i].find('`', close + 1);
    }
  }
}

}  // namespace

std::vector<std::string> BrokenArrows(const SourceTree& tree) {
  Findings findings;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path)) continue;
    ForEachInclude(text, [&](std::size_t line_index, const Include& include) {
      if (!include.is_ours) return;
      const bool is_allowed = std::any_of(kArrows.begin(), kArrows.end(), [&](const Arrow& arrow) {
        return path.starts_with(arrow.from) && include.path.starts_with(arrow.to);
      });
      if (!is_allowed) {
        findings.push_back(At(path, line_index, "may not include " + include.path));
      } else if (!tree.contains(include.path)) {
        findings.push_back(
            At(path, line_index, "includes " + include.path + ", which is not here"));
      }
    });
  }
  return findings;
}

std::vector<std::string> StrayLibraries(const SourceTree& tree) {
  Findings findings;
  std::map<std::string_view, std::set<std::string>> includers;  // of libraries with one includer
  for (const auto& [path, text] : tree) {
    if (!IsCode(path)) continue;
    ForEachInclude(text, [&](std::size_t line_index, const Include& include) {
      const std::string& header = include.path;
      if (include.is_ours || IsStandardHeader(header)) return;
      bool is_known = StartsWithOneOf(header, kSystemHeaders);
      bool is_owner = is_known;
      for (const Library& library : kLibraries) {
        if (!header.starts_with(library.header)) continue;
        is_known = true;
        if (!path.starts_with(library.owner)) continue;
        is_owner = true;
        if (library.has_one_includer) includers[library.name].insert(path);
      }
      const bool is_test_tool = header.starts_with("gtest/") || header.starts_with("gmock/") ||
                                header.starts_with("benchmark/");
      if (is_test_tool && path.starts_with("tests/")) return;
      if (!is_known) {
        findings.push_back(At(path, line_index, "includes the unknown library <" + header + ">"));
      } else if (!is_owner) {
        findings.push_back(At(path, line_index, "<" + header + "> belongs to another file"));
      } else if (header.starts_with("nlohmann/") && IsHeader(path)) {
        findings.push_back(At(path, line_index, "JSON is included by .cc files only"));
      }
    });
  }
  for (const auto& [library, paths] : includers) {
    if (paths.size() > 1) {
      findings.push_back(std::string(library) + " has more than one includer: " + *paths.begin() +
                         ", " + *std::next(paths.begin()));
    }
  }
  return findings;
}

std::vector<std::string> LeavesWithInlineCode(const SourceTree& tree) {
  constexpr std::array<std::string_view, 3> kLeafFolders = {"kernels/avx2/", "kernels/avx512/",
                                                            "kernels/amx/"};
  constexpr std::array<std::string_view, 5> kPlainHeaders = {"immintrin.h", "cstddef", "cstdint",
                                                             "cassert", "cstring"};
  Findings findings;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path) || !StartsWithOneOf(path, kLeafFolders)) continue;
    ForEachInclude(text, [&](std::size_t line_index, const Include& include) {
      const bool is_plain = std::find(kPlainHeaders.begin(), kPlainHeaders.end(), include.path) !=
                            kPlainHeaders.end();
      if (!include.is_ours && !is_plain) {
        findings.push_back(
            At(path, line_index,
               "a leaf kernel may not include <" + include.path + ">: it has inline code"));
      }
    });
  }
  return findings;
}

std::vector<std::string> OversizedParts(const SourceTree& tree) {
  constexpr std::size_t kColumns = 100;
  constexpr std::size_t kReadmeLines = 30;
  Findings findings;
  for (const auto& [path, text] : tree) {
    const auto lines = Lines(text);
    // A top folder's own.
    const bool is_folder_readme = path == std::string(FolderOf(path)) + "/README.md";
    if (is_folder_readme && lines.size() > kReadmeLines) {
      findings.push_back(path + " has " + std::to_string(lines.size()) + " lines; at most 30");
    }
    if (!IsCode(path)) continue;
    if (lines.size() > LinesAllowed(path)) {
      findings.push_back(path + " has " + std::to_string(lines.size()) + " lines; at most " +
                         std::to_string(LinesAllowed(path)));
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (Columns(lines[i]) > kColumns && !lines[i].starts_with("#include")) {
        findings.push_back(At(path, i, "longer than 100 columns"));
      }
    }
    if (IsSource(path)) CheckFunctions(path, lines, findings);
  }
  return findings;
}

std::vector<std::string> UntidyBlanks(const SourceTree& tree) {
  Findings findings;
  for (const auto& [path, text] : tree) {
    if (text.empty()) continue;
    const auto lines = Lines(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find('\t') != std::string_view::npos) findings.push_back(At(path, i, "a tab"));
      if (lines[i].ends_with(' ') || lines[i].ends_with('\r')) {
        findings.push_back(At(path, i, "a blank at the line's end"));
      }
    }
    if (!text.ends_with('\n') || text.ends_with("\n\n")) {
      findings.push_back(path + " does not end with one newline");
    }
  }
  return findings;
}

std::vector<std::string> HeadersWithoutHead(const SourceTree& tree) {
  Findings findings;
  for (const auto& [path, text] : tree) {
    if (!IsHeader(path)) continue;
    const auto lines = Lines(text);
    std::size_t comment_lines = 0;
    while (comment_lines < lines.size() && lines[comment_lines].starts_with("//")) ++comment_lines;
    if (comment_lines == 0) {
      findings.push_back(path + " does not begin with a comment that says what it is");
    }
    if (comment_lines >= lines.size() || lines[comment_lines] != "#pragma once") {
      findings.push_back(path + " has no #pragma once after its head comment");
    }
  }
  return findings;
}

std::vector<std::string> ForbiddenWords(const SourceTree& tree) {
  Findings findings;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path) || HoldsTheRules(path)) continue;
    const auto lines = Lines(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const ForbiddenWord& forbidden : kForbiddenWords) {
        if (lines[i].find(forbidden.word) != std::string_view::npos &&
            !IsWordAllowed(path, forbidden)) {
          findings.push_back(
              At(path, i, std::string(forbidden.word) + ": " + std::string(forbidden.why)));
        }
      }
      if (lines[i].find("NOLINT") != std::string_view::npos &&
          lines[i].find("): ") == std::string_view::npos) {
        findings.push_back(At(path, i, "NOLINT(check): reason"));
      }
    }
  }
  return findings;
}

std::vector<std::string> UnlistedSources(const SourceTree& tree) {
  constexpr std::string_view kFuzzFolder = "tests/fuzz/";
  constexpr std::string_view kFuzzEnd = "_fuzz.cc";
  Findings findings;
  for (const auto& [path, text] : tree) {
    if (!IsSource(path) || path == "tests/fuzz/replay_main.cc") continue;  // named in Tests.cmake
    const std::string folder(FolderOf(path));
    const auto list = tree.find(folder + "/CMakeLists.txt");
    if (list == tree.end()) {
      findings.push_back(path + " has no " + folder + "/CMakeLists.txt");
      continue;
    }
    std::string name = path.substr(folder.size() + 1);
    if (path.starts_with(kFuzzFolder) && path.ends_with(kFuzzEnd)) {
      const std::size_t end = path.size() - kFuzzEnd.size();
      name =
          "inglenook_add_fuzz_target(" + path.substr(kFuzzFolder.size(), end - kFuzzFolder.size());
    }
    if (!Names(list->second, name)) {
      findings.push_back(path + " is not named in " + list->first);
    }
  }
  return findings;
}

std::vector<std::string> StaleDocuments(const SourceTree& tree) {
  Findings findings;
  std::string documents;
  for (const auto& [path, text] : tree) {
    if (!path.ends_with(".md")) continue;
    documents += text;
    if (path != "CHANGELOG.md") CheckQuotedPaths(tree, path, findings);
  }
  for (const auto& [path, text] : tree) {
    const bool must_be_named =
        (FolderOf(path) == "scripts" && !path.starts_with("scripts/cmake")) ||
        FolderOf(path) == "config";
    if (must_be_named && path.find("README") == std::string::npos &&
        documents.find(path) == std::string::npos) {
      findings.push_back(path + " stands in no document");
    }
  }
  return findings;
}

}  // namespace support

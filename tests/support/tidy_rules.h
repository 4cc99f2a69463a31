// The rules of this code base that a machine can check. Each rule reads a tree and returns one
// sentence per place that breaks it ("engine/x.cc:12: …"), none when all is well.
//
// Exceptions are named lines in tidy_rules.cc, each with its reason; limits only ever go down.
#pragma once

#include <string>
#include <vector>

#include "tests/support/source_tree.h"

namespace support {

// Includes run only along the arrows service → engine, integrations; engine → cache, kernels;
// cache → kernels; and name a file of this tree.
std::vector<std::string> BrokenArrows(const SourceTree& tree);

// Each third-party library is included by one file, in the folder that owns it. JSON may be
// included by several .cc files of service/ and integrations/.
std::vector<std::string> StrayLibraries(const SourceTree& tree);

// Leaf kernels of one instruction set include <immintrin.h>, plain C headers and kernels/ only: an
// inline function compiled with their flags could be the copy that the linker keeps for all.
std::vector<std::string> LeavesWithInlineCode(const SourceTree& tree);

// .cc files of at most 500 lines, headers of 150, functions of 70, lines of 100 columns, READMEs of
// folders of 30.
std::vector<std::string> OversizedParts(const SourceTree& tree);

// No tab, no blank at a line's end, no '\r', one newline at the end.
std::vector<std::string> UntidyBlanks(const SourceTree& tree);

// A header begins with a comment that says what it is, then #pragma once.
std::vector<std::string> HeadersWithoutHead(const SourceTree& tree);

// Words that have no place here: see tidy_rules.cc.
std::vector<std::string> ForbiddenWords(const SourceTree& tree);

// A source file that no CMakeLists.txt names is not built; a test like that never runs.
std::vector<std::string> UnlistedSources(const SourceTree& tree);

// Documents name files that exist, and name every script, preset and configuration file.
std::vector<std::string> StaleDocuments(const SourceTree& tree);

}  // namespace support

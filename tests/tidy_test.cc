// Goal: the shape of the code base (CONTRIBUTING.md) stays what it says it is.
// Method: each rule reads the whole checkout and must find nothing; and each rule must find what is
// planted in an invented tree, so that a rule that has gone blind is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/source_tree.h"
#include "tests/support/tidy_rules.h"

namespace {

using support::SourceTree;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const SourceTree& Repository() {
  static const SourceTree tree = support::ReadSourceTree(INGLENOOK_SOURCE_DIR);
  return tree;
}

TEST(Tidy, TheWholeRepositoryIsRead) {
  EXPECT_TRUE(Repository().contains("tests/tidy_test.cc"));
  EXPECT_TRUE(Repository().contains("cache/block_pool.h"));
  EXPECT_TRUE(Repository().contains("scripts/test"));
  EXPECT_FALSE(Repository().contains("tests/data/tiny/logits.json"));
}

TEST(Tidy, IncludesRunOnlyAlongTheArrows) {
  EXPECT_THAT(support::BrokenArrows(Repository()), IsEmpty());
}

TEST(Tidy, AnIncludeAgainstTheArrowsIsFound) {
  const SourceTree tree = {{"cache/a.cc", "#include \"engine/engine.h\"\n"},
                           {"engine/engine.h", ""},
                           {"integrations/b.h", "#include \"cache/kv_cache.h\"\n"},
                           {"kernels/c.cc", "\n#include \"cache/kv_cache.h\"\n"},
                           {"service/d.cc", "#include \"integrations/x/prompt.h\"\n"},
                           {"service/main.cc", "#include \"engine/engine.h\"\n"}};
  EXPECT_THAT(support::BrokenArrows(tree),
              ElementsAre("cache/a.cc:1: may not include engine/engine.h",
                          "integrations/b.h:1: may not include cache/kv_cache.h",
                          "kernels/c.cc:2: may not include cache/kv_cache.h",
                          "service/d.cc:1: may not include integrations/x/prompt.h"));
}

TEST(Tidy, EachLibraryHasOneIncluder) {
  EXPECT_THAT(support::StrayLibraries(Repository()), IsEmpty());
}

TEST(Tidy, ASecondIncluderOfALibraryIsFound) {
  const SourceTree tree = {{"engine/a.cc", "#include <yaml-cpp/yaml.h>\n"},
                           {"service/mqtt_transport.cc", "#include <mqtt/async_client.h>\n"},
                           {"service/mqtt_transport.h", "#include <mqtt/message.h>\n"},
                           {"service/reply.h", "#include <nlohmann/json.hpp>\n"},
                           {"tests/b.cc", "#include <boost/asio.hpp>\n#include <sys/wait.h>\n"}};
  EXPECT_THAT(support::StrayLibraries(tree),
              ElementsAre(HasSubstr("engine/a.cc:1: <yaml-cpp/yaml.h> belongs to another"),
                          HasSubstr("service/reply.h:1: JSON"),
                          HasSubstr("tests/b.cc:1: includes the unknown library"),
                          HasSubstr("Paho has more than one includer")));
}

TEST(Tidy, LeafKernelsIncludeNoInlineCode) {
  EXPECT_THAT(support::LeavesWithInlineCode(Repository()), IsEmpty());
}

TEST(Tidy, ASpanInALeafKernelIsFound) {
  const SourceTree tree = {{"kernels/avx512/dot.cc", "#include <cstdint>\n#include <span>\n"},
                           {"kernels/scalar/dot.cc", "#include <span>\n"}};
  EXPECT_THAT(support::LeavesWithInlineCode(tree),
              ElementsAre(HasSubstr("kernels/avx512/dot.cc:2")));
}

TEST(Tidy, FilesFunctionsAndLinesAreShort) {
  EXPECT_THAT(support::OversizedParts(Repository()), IsEmpty());
}

TEST(Tidy, LongFilesFunctionsAndLinesAreFound) {
  std::string body;
  for (int i = 0; i < 69; ++i) body += "  Step();\n";
  const std::string just_right = "int F(int a,\n      int b) {\n" + body.substr(20) + "}\n";
  const std::string too_long = "int G() {\n" + body + "}\n";
  const SourceTree tree = {{"engine/a.cc", std::string(501, '\n')},
                           {"engine/b.h", std::string(151, '\n')},
                           {"engine/c.cc", just_right + too_long},
                           {"engine/d.cc", "//" + std::string(98, '-') + "\n"},
                           {"engine/e.cc", "//" + std::string(99, '-') + "\n"},
                           {"engine/README.md", std::string(31, '\n')}};
  EXPECT_THAT(
      support::OversizedParts(tree),
      ElementsAre("engine/README.md has 31 lines; at most 30",
                  "engine/a.cc has 501 lines; at most 500", "engine/b.h has 151 lines; at most 150",
                  HasSubstr("a function of 71 lines"), "engine/e.cc:1: longer than 100 columns"));
}

TEST(Tidy, NoTabsAndNoBlanksAtTheEndOfALine) {
  EXPECT_THAT(support::UntidyBlanks(Repository()), IsEmpty());
}

TEST(Tidy, TabsAndTrailingBlanksAreFound) {
  const SourceTree tree = {
      {"a.md", "x\n\ty\n"}, {"b.cc", "x \n"}, {"c.h", "x"}, {"d.h", "x\n\n"}, {"e.h", "x\n"}};
  EXPECT_THAT(
      support::UntidyBlanks(tree),
      ElementsAre("a.md:2: a tab", "b.cc:1: a blank at the line's end",
                  "c.h does not end with one newline", "d.h does not end with one newline"));
}

TEST(Tidy, EachHeaderSaysWhatItIs) {
  EXPECT_THAT(support::HeadersWithoutHead(Repository()), IsEmpty());
}

TEST(Tidy, AHeaderWithoutHeadCommentOrGuardIsFound) {
  const SourceTree tree = {{"engine/a.h", "#pragma once\n"},
                           {"engine/b.h", "// What it is,\n// and what not.\n\nint x;\n"},
                           {"engine/c.h", "// What it is.\n#pragma once\n"}};
  EXPECT_THAT(support::HeadersWithoutHead(tree),
              ElementsAre(HasSubstr("engine/a.h does not begin"),
                          HasSubstr("engine/b.h has no #pragma once")));
}

TEST(Tidy, NoForbiddenWords) { EXPECT_THAT(support::ForbiddenWords(Repository()), IsEmpty()); }

TEST(Tidy, AForbiddenWordIsFound) {
  const SourceTree tree = {{"cache/a.cc", "// TODO: later\n"},
                           {"engine/b.cc", "const char* x = std::getenv(\"X\");  // NOLINT\n"},
                           {"kernels/isa.cc", "const char* x = std::getenv(\"INGLENOOK_ISA\");\n"},
                           {"tests/c_test.cc", "TEST(A, DISABLED_B) {}\n"}};
  EXPECT_THAT(support::ForbiddenWords(tree),
              ElementsAre(HasSubstr("cache/a.cc:1: TODO"), HasSubstr("engine/b.cc:1: getenv"),
                          "engine/b.cc:1: NOLINT(check): reason",
                          HasSubstr("tests/c_test.cc:1: DISABLED_")));
}

TEST(Tidy, EverySourceFileAndEveryTestIsBuilt) {
  EXPECT_THAT(support::UnlistedSources(Repository()), IsEmpty());
}

TEST(Tidy, AnUnbuiltTestIsFound) {
  const SourceTree tree = {{"tests/CMakeLists.txt", "x SOURCES engine/big_a_test.cc\n"},
                           {"tests/engine/a_test.cc", ""},
                           {"tests/engine/big_a_test.cc", ""},
                           {"tests/fuzz/gguf_fuzz.cc", ""}};
  EXPECT_THAT(support::UnlistedSources(tree),
              ElementsAre("tests/engine/a_test.cc is not named in tests/CMakeLists.txt",
                          "tests/fuzz/gguf_fuzz.cc is not named in tests/CMakeLists.txt"));
}

TEST(Tidy, DocumentsNameFilesThatExist) {
  EXPECT_THAT(support::StaleDocuments(Repository()), IsEmpty());
}

TEST(Tidy, AStalePathAndAnUnnamedScriptAreFound) {
  const SourceTree tree = {{"README.md", "`engine/gone.cc`, `engine/`, `kernels/*/x.cc`, `x/y`\n"},
                           {"engine/here.cc", ""},
                           {"scripts/lonely", ""}};
  EXPECT_THAT(support::StaleDocuments(tree), ElementsAre("README.md:1: there is no engine/gone.cc",
                                                         "scripts/lonely stands in no document"));
}

}  // namespace

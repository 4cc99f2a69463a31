#include "service/yaml_loader.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace service {
namespace {

YamlLimits Bytes(std::size_t bytes_max) {
  YamlLimits limits;
  limits.bytes_max = bytes_max;
  return limits;
}
YamlLimits Nodes(std::size_t nodes_max) {
  YamlLimits limits;
  limits.nodes_max = nodes_max;
  return limits;
}
YamlLimits Depth(int depth_max) {
  YamlLimits limits;
  limits.depth_max = depth_max;
  return limits;
}

std::string ErrorOf(const std::string& text, const YamlLimits& limits = {}) {
  const auto root = ParseYaml("h.yaml", text, limits);
  return root ? "no error" : root.error();
}

TEST(YamlLoader, KeepsPlacesKindsAndQuotes) {
  const auto root = ParseYaml("h.yaml", "a: 1\nb:\n  - x\n  - {c: \"2\"}\nd:\n", {});
  ASSERT_TRUE(root.has_value()) << root.error();
  ASSERT_EQ(root->entries.size(), 3U);
  EXPECT_EQ(root->entries[0].key, "a");
  EXPECT_EQ(root->entries[0].value.text, "1");
  EXPECT_FALSE(root->entries[0].value.quoted);
  const YamlNode& list = root->entries[1].value;
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[1].line, 4);
  EXPECT_EQ(list.items[1].column, 5);
  EXPECT_TRUE(list.items[1].entries[0].value.quoted);
  EXPECT_EQ(root->entries[2].value.kind, YamlNode::Kind::kNothing);
}

TEST(YamlLoader, AnEmptyDocumentIsAnEmptyMap) {
  for (const char* text : {"", "# nothing\n", "\n\n"}) {
    const auto root = ParseYaml("h.yaml", text, {});
    ASSERT_TRUE(root.has_value()) << root.error();
    EXPECT_TRUE(root->entries.empty());
  }
}

TEST(YamlLoader, NormalizesToNfc) {
  const auto root = ParseYaml("h.yaml", "name: cafe\u0301\n", {});
  ASSERT_TRUE(root.has_value()) << root.error();
  EXPECT_EQ(root->entries[0].value.text, "caf\u00e9");
}

TEST(YamlLoader, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(ErrorOf("a: 1\nb: 2\na: 3\n"),
            "h.yaml:3:1: the key \"a\" stands here and in line 1; remove one");
}

TEST(YamlLoader, RefusesAKeyThatIsTheSameAfterNormalization) {
  EXPECT_EQ(ErrorOf("caf\u00e9: 1\ncafe\u0301: 2\n"),
            "h.yaml:2:1: the key \"caf\u00e9\" stands here and in line 1; remove one");
}

TEST(YamlLoader, RefusesAnchorsAliasesAndTags) {
  EXPECT_EQ(ErrorOf("a: &x 1\n"),
            "h.yaml:1:4: an anchor (&name) is not allowed; leave it out and write the text out");
  EXPECT_NE(ErrorOf("a: &x 1\nb: *x\n").find("an anchor"), std::string::npos);
  EXPECT_NE(ErrorOf("a: !thing 1\n").find("the tag \"!thing\" is not allowed; leave it out"),
            std::string::npos);
}

TEST(YamlLoader, AliasBombsEndAtTheirFirstAnchor) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string one = std::to_string(i);
    const std::string before = std::to_string(i - 1);
    bomb += "a" + one + ": &a" + one + " [*a" + before + ", *a" + before + ", *a" + before + "]\n";
  }
  EXPECT_EQ(ErrorOf(bomb),
            "h.yaml:1:5: an anchor (&name) is not allowed; leave it out and write the text out");
}

TEST(YamlLoader, RefusesControlCharactersAndBadBytes) {
  EXPECT_EQ(ErrorOf("a: x\nb: y\x01z\n"), "h.yaml:2:5: a control character; use spaces");
  EXPECT_EQ(ErrorOf("a:\tx\n"), "h.yaml:1:3: a tab; use spaces");
  EXPECT_EQ(ErrorOf("a: \"x\\u0007\"\n"),
            "h.yaml:1:4: the text holds a control character; remove it");
  EXPECT_EQ(ErrorOf("a: 1\nb: \xff\n"),
            "h.yaml:2:1: the line is not valid UTF-8; save the file as UTF-8");
}

TEST(YamlLoader, RefusesWhatPassesTheLimits) {
  EXPECT_EQ(ErrorOf("a: 1234567", Bytes(10)), "no error");
  EXPECT_EQ(ErrorOf("a: 12345678", Bytes(10)),
            "h.yaml: the file has 11 bytes, the limit is 10; shorten it");
  EXPECT_EQ(ErrorOf("[a, b]", Nodes(3)), "no error");
  EXPECT_EQ(ErrorOf("[a, b, c]", Nodes(3)),
            "h.yaml:1:8: more than 3 values; split the home or remove some");
  EXPECT_EQ(ErrorOf("[[a]]", Depth(2)), "no error");
  EXPECT_EQ(ErrorOf("[[[a]]]", Depth(2)), "h.yaml:1:3: nested more than 2 levels deep; flatten it");
  EXPECT_NE(ErrorOf(std::string(100'000, '[')), "no error");
}

TEST(YamlLoader, RefusesASecondDocument) {
  EXPECT_EQ(ErrorOf("a: 1\n---\nb: 2\n"),
            "h.yaml:3:1: a second document begins here (\"---\"); one file holds one");
}

TEST(YamlLoader, SaysWhereTheYamlIsBroken) {
  EXPECT_EQ(ErrorOf("a: [1, 2\nb: 3\n").substr(0, 9), "h.yaml:2:");
  EXPECT_EQ(ErrorOf("a: 1\nb: c: d\n").substr(0, 9), "h.yaml:2:");
}

TEST(YamlLoader, RefusesKeysThatAreNoText) {
  EXPECT_EQ(ErrorOf("? [a]\n: 1\n"), "h.yaml:1:3: a key must be text, this one is a list");
}

TEST(YamlLoader, ANonexistentFileIsNamed) {
  const auto root = LoadYaml("/nonexistent/h.yaml", {});
  ASSERT_FALSE(root.has_value());
  EXPECT_EQ(root.error(),
            "/nonexistent/h.yaml: can't be opened: No such file or directory; check the path and "
            "its permissions");
}

TEST(YamlLoader, ReadsFilesUpToTheLimit) {
  const std::string path = testing::TempDir() + "yaml_loader_test.yaml";
  std::ofstream(path) << "a: 12345678";
  EXPECT_TRUE(LoadYaml(path, Bytes(11)).has_value());
  EXPECT_FALSE(LoadYaml(path, Bytes(10)).has_value());
  std::remove(path.c_str());
}

class YamlReaderTest : public testing::Test {
 protected:
  YamlNode Root(const std::string& text) {
    auto root = ParseYaml("h.yaml", text, {});
    EXPECT_TRUE(root.has_value());
    return root ? *root : YamlNode{};
  }
  YamlReader reader_{"h.yaml"};
};

TEST_F(YamlReaderTest, UnknownKeysAreNamedWithTheKnownOnes) {
  EXPECT_FALSE(reader_.IsMap(Root("a: 1\nc: 2\n"), "a device", {"a", "b"}));
  EXPECT_EQ(reader_.error(), "h.yaml:2:1: unknown key \"c\" in a device; known are a, b");
}

TEST_F(YamlReaderTest, WrongTypesSayWhatWasFoundAndExpected) {
  const YamlNode root = Root("number: 12x\nquoted: \"12\"\nflag: yes\nlist: text\ntext: [a]\n");
  const auto error = [&](auto get) {
    YamlReader reader("h.yaml");
    get(reader);
    return reader.error();
  };
  EXPECT_EQ(error([&](YamlReader& r) { return r.Integer(root, "number", 1, 20); }),
            "h.yaml:1:9: \"number\" must be a whole number from 1 to 20, found \"12x\"");
  EXPECT_EQ(error([&](YamlReader& r) { return r.Integer(root, "quoted", 1, 20); }),
            "h.yaml:2:9: \"quoted\" must be a whole number from 1 to 20, found \"12\"");
  EXPECT_EQ(error([&](YamlReader& r) { return r.FlagOr(root, "flag", false); }),
            "h.yaml:3:7: \"flag\" must be true or false, found \"yes\"");
  EXPECT_EQ(error([&](YamlReader& r) { return r.TextsOr(root, "list").size(); }),
            "h.yaml:4:7: \"list\" must be a list, found \"text\"");
  EXPECT_EQ(error([&](YamlReader& r) { return r.Text(root, "text"); }),
            "h.yaml:5:7: \"text\" must be text, found a list");
  EXPECT_EQ(error([&](YamlReader& r) { return r.Text(root, "missing"); }),
            "h.yaml:1:1: the key \"missing\" is missing; add it");
}

TEST_F(YamlReaderTest, BoundsAreInclusive) {
  const YamlNode root = Root("a: 1\nb: 20\nc: 21\nd: -5\ne: 0.5\n");
  EXPECT_EQ(reader_.Integer(root, "a", 1, 20), 1);
  EXPECT_EQ(reader_.Integer(root, "b", 1, 20), 20);
  EXPECT_EQ(reader_.IntegerOr(root, "d", -5, 0, 7), -5);
  EXPECT_EQ(reader_.IntegerOr(root, "none", 1, 20, 7), 7);
  EXPECT_EQ(reader_.NumberOr(root, "e", 0, 1, 0), 0.5);
  EXPECT_TRUE(reader_.ok());
  EXPECT_EQ(reader_.Integer(root, "c", 1, 20), 1);
  EXPECT_EQ(reader_.error(), "h.yaml:3:4: \"c\" must be a whole number from 1 to 20, found \"21\"");
}

TEST_F(YamlReaderTest, KeepsTheFirstProblem) {
  reader_.Fail(1, 2, "first");
  reader_.Fail(3, 4, "second");
  EXPECT_EQ(reader_.error(), "h.yaml:1:2: first");
}

}  // namespace
}  // namespace service

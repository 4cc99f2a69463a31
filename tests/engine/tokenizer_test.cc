#include "engine/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/unicode.h"
#include "tests/support/vocabulary.h"

namespace {

using engine::TokenId;
using engine::Tokenizer;
using support::Decode;
using support::Encode;
using support::GgufWriter;
using support::LoadTokenizer;
using support::MakeVocabulary;
using support::ParseVocabulary;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer Make(const GgufWriter& writer) {
  auto tokenizer = Tokenizer::From(ParseVocabulary(writer).file);
  if (!tokenizer) throw std::runtime_error(tokenizer.error());
  return std::move(*tokenizer);
}

std::string ErrorOf(const GgufWriter& writer) {
  const auto tokenizer = Tokenizer::From(ParseVocabulary(writer).file);
  return tokenizer ? std::string() : tokenizer.error();
}

GgufWriter AbVocabulary() {
  return MakeVocabulary({{"a", "b"}, {"ab", "ab"}, {"b", "a"}}, {"<|end|>"});
}

constexpr TokenId kAb{256}, kAbab{257}, kBa{258}, kEnd{259};

TEST(Tokenizer, Gpt2GivesTheTokensOfLlamaCpp) {
  const Tokenizer tokenizer = LoadTokenizer("ggml-vocab-gpt-2.gguf");
  const std::string inputs = support::ReadDataFile("vocab/ggml-vocab-gpt-2.gguf.inp");
  auto expected = support::ReadIdLists("vocab/ggml-vocab-gpt-2.gguf.out");
  expected.emplace_back();  // the text after the last separator is empty
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::size_t count = 0;
  for (std::size_t at = 0; at <= inputs.size(); ++count) {
    const std::size_t end = std::min(inputs.find(separator, at), inputs.size());
    ASSERT_LT(count, expected.size());
    EXPECT_EQ(Encode(tokenizer, inputs.substr(at, end - at)), expected[count])
        << inputs.substr(at, end - at);
    at = end + separator.size();
  }
  EXPECT_EQ(count, 47u);
}

TEST(Tokenizer, SmolLm2GivesTheTokensOfLlamaCpp) {
  const Tokenizer tokenizer = LoadTokenizer("smollm2.gguf");
  const auto texts = support::ReadTexts("tokenizer/texts.txt");
  const auto expected = support::ReadIdLists("tokenizer/texts.ids");
  ASSERT_EQ(texts.size(), expected.size());
  ASSERT_GE(texts.size(), 320u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(Encode(tokenizer, texts[i]), expected[i])
        << testing::PrintToString(texts[i]) << "\n"
        << testing::PrintToString(Decode(tokenizer, expected[i]));
  }
}

TEST(Tokenizer, OrdinaryTextComesBackByteForByte) {
  for (const char* name : {"smollm2.gguf", "ggml-vocab-gpt-2.gguf"}) {
    const Tokenizer tokenizer = LoadTokenizer(name);
    int count = 0;
    for (const std::string& text : support::ReadTexts("tokenizer/texts.txt")) {
      const bool has_control = std::ranges::any_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r';
      });
      if (!engine::NormalizeNfc(text) || has_control) continue;
      const std::string decoded = Decode(tokenizer, Encode(tokenizer, text));
      // Bytes without a token are left out; they don't occur in what people write.
      if (text.find("\xf3\xa0") == std::string::npos) {
        EXPECT_EQ(decoded, text);
      }
      ++count;
    }
    EXPECT_GE(count, 300);
  }
}

TEST(Tokenizer, TextNeverBecomesASpecialToken) {
  const Tokenizer tokenizer = LoadTokenizer("smollm2.gguf");
  int specials = 0;
  for (int i = 0; i < tokenizer.token_count(); ++i) {
    const std::string& spelling = tokenizer.TokenBytes(TokenId{i});
    if (!tokenizer.SpecialToken(spelling)) continue;
    ++specials;
    EXPECT_FALSE(tokenizer.IsPlain(TokenId{i}));
    for (const std::string& text : {spelling, " " + spelling, "a" + spelling + "b",
                                    spelling + spelling, "\n" + spelling + "\n"}) {
      EXPECT_THAT(Encode(tokenizer, text),
                  testing::Each(testing::ResultOf(
                      [&](TokenId token) { return tokenizer.IsPlain(token); }, true)));
      EXPECT_EQ(Decode(tokenizer, Encode(tokenizer, text)), text);
    }
  }
  EXPECT_EQ(specials, 17);
}

TEST(Tokenizer, TextNeverBecomesAUserDefinedToken) {
  GgufWriter writer = AbVocabulary();
  std::vector<std::int32_t> types(260, 1);
  types[259] = 4;
  writer.Set("tokenizer.ggml.token_type", types);
  const Tokenizer tokenizer = Make(writer);
  EXPECT_EQ(tokenizer.SpecialToken("<|end|>"), kEnd);
  EXPECT_FALSE(tokenizer.IsPlain(kEnd));
  EXPECT_EQ(Encode(tokenizer, "<|end|>").size(), 7u);
}

TEST(Tokenizer, TypesOtherThanNormalAreNotPlain) {
  for (const std::int32_t type : {2, 3, 4, 5, 6, 0, -1, 7}) {
    GgufWriter writer = AbVocabulary();
    std::vector<std::int32_t> types(260, 1);
    types[259] = type;
    writer.Set("tokenizer.ggml.token_type", types);
    const Tokenizer tokenizer = Make(writer);
    EXPECT_FALSE(tokenizer.IsPlain(kEnd)) << type;
    EXPECT_TRUE(tokenizer.IsPlain(kAb));
    EXPECT_EQ(tokenizer.SpecialToken("<|end|>").has_value(), type == 3 || type == 4) << type;
    EXPECT_EQ(tokenizer.SpecialToken("ab"), std::nullopt);
  }
}

TEST(Tokenizer, AMergeIntoASpecialTokenIsRefused) {
  GgufWriter writer = AbVocabulary();
  std::vector<std::int32_t> types(260, 1);
  types[257] = 3;  // "abab"
  writer.Set("tokenizer.ggml.token_type", types);
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("tokenizer.ggml.merges"), HasSubstr("entry 1")));
}

TEST(Tokenizer, TheLowestRankIsJoinedFirstAndThenTheLeftmost) {
  const Tokenizer tokenizer = Make(AbVocabulary());
  EXPECT_THAT(Encode(tokenizer, "ab"), ElementsAre(kAb));
  EXPECT_THAT(Encode(tokenizer, "bab"), ElementsAre(TokenId{'b'}, kAb));
  EXPECT_THAT(Encode(tokenizer, "ababab"), ElementsAre(kAbab, kAb));
  EXPECT_THAT(Encode(tokenizer, "bba"), ElementsAre(TokenId{'b'}, kBa));
  EXPECT_THAT(Encode(tokenizer, ""), ElementsAre());
}

TEST(Tokenizer, EncodeAppends) {
  const Tokenizer tokenizer = Make(AbVocabulary());
  std::vector<TokenId> tokens = {kEnd};
  tokenizer.Encode("ab", tokens);
  EXPECT_THAT(tokens, ElementsAre(kEnd, kAb));
}

TEST(Tokenizer, BytesThatAreNoUtf8AreEncodedAsReplacementCharacters) {
  const Tokenizer tokenizer = LoadTokenizer("smollm2.gguf");
  EXPECT_EQ(Decode(tokenizer, Encode(tokenizer,
                                     "a\xFF"
                                     "b\xE2\x82")),
            "a\uFFFD"
            "b\uFFFD\uFFFD");
}

TEST(Tokenizer, BytesWithoutATokenAreLeftOut) {
  GgufWriter writer = AbVocabulary();
  auto tokens = std::vector<std::string>{"a", "b", "ab"};
  writer.Set("tokenizer.ggml.tokens", tokens);
  writer.Set("tokenizer.ggml.token_type", std::vector<std::int32_t>(3, 1));
  writer.Set("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  const Tokenizer tokenizer = Make(writer);
  EXPECT_THAT(Encode(tokenizer, "acb"), ElementsAre(TokenId{0}, TokenId{1}));
  EXPECT_THAT(Encode(tokenizer, "cabc ab"), ElementsAre(TokenId{2}, TokenId{2}));
  EXPECT_THAT(Encode(tokenizer, "ccc"), ElementsAre());
}

// Joins the leftmost pair of the lowest rank until there is none, looking at all pairs each time.
std::vector<std::string> JoinSlowly(const std::vector<support::Merge>& merges,
                                    const std::string& piece) {
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  while (true) {
    std::size_t best_rank = merges.size();
    std::size_t best = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank].left != parts[i] || merges[rank].right != parts[i + 1]) continue;
        best_rank = rank;
        best = i;
      }
    }
    if (best_rank == merges.size()) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

// Goal: the queue joins what the definition says. Method: random merges over three letters, in
// random order so that a pair can come before its parts; random pieces; both ways.
TEST(Tokenizer, JoinsAsTheSlowDefinitionDoes) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> known = {"a", "b", "c"};
    std::set<std::string> seen(known.begin(), known.end());
    std::vector<support::Merge> merges;
    for (int tries = 0; tries < 40; ++tries) {
      const std::string left = known[random() % known.size()];
      const std::string right = known[random() % known.size()];
      if (left.size() + right.size() > 7 || !seen.insert(left + right).second) continue;
      merges.push_back({left, right});
      known.push_back(left + right);
    }
    std::ranges::shuffle(merges, random);
    const Tokenizer tokenizer = Make(MakeVocabulary(merges, {}));
    for (int i = 0; i < 60; ++i) {
      std::string piece;
      const std::size_t length = 1 + random() % 40;
      while (piece.size() < length) piece.push_back("abc"[random() % 3]);
      std::vector<std::string> found;
      for (const TokenId token : Encode(tokenizer, piece)) {
        found.push_back(tokenizer.TokenBytes(token));
      }
      ASSERT_EQ(found, JoinSlowly(merges, piece)) << "round " << round << ", piece " << piece;
    }
  }
}

// Sanitizers and debug code are several times slower.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr double kSecondsMax = 1;
#else
constexpr double kSecondsMax = 15;
#endif

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Goal: no text takes more than about n log n. Method: a megabyte of what makes long pieces or many
// of them; a quadratic way would take minutes.
TEST(Tokenizer, AMegabyteTakesLessThanASecond) {
  const Tokenizer tokenizer = LoadTokenizer("smollm2.gguf");
  for (const std::string_view unit : {"a",
                                      "z",
                                      " ",
                                      "\n",
                                      "1",
                                      "'",
                                      "-",
                                      "=",
                                      "ab",
                                      "the",
                                      "a ",
                                      " a",
                                      " \n",
                                      "\xC3\xA9",
                                      "\xE4\xB8\x80",
                                      "\xF0\x9F\x92\xA1",
                                      "\xFF",
                                      "\xE2\x82",
                                      "'s",
                                      "a1",
                                      "<|im_end|>",
                                      "Turn on the kitchen light. ",
                                      "x\xCC\x88"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    const double start = CpuSeconds();
    const std::vector<TokenId> tokens = Encode(tokenizer, text);
    const double seconds = CpuSeconds() - start;
    EXPECT_LT(seconds, kSecondsMax) << testing::PrintToString(unit);
    EXPECT_FALSE(tokens.empty());
    RecordProperty("seconds_" + testing::PrintToString(unit), std::to_string(seconds));
  }
}

TEST(Tokenizer, APromptBeginsWithATokenWhereTheFileSaysSo) {
  EXPECT_EQ(LoadTokenizer("smollm2.gguf").begin_token(), std::nullopt);
  GgufWriter writer = AbVocabulary();
  writer.Set("tokenizer.ggml.bos_token_id", std::uint32_t{259});
  EXPECT_EQ(Make(writer).begin_token(), std::nullopt);
  writer.Set("tokenizer.ggml.add_bos_token", true);
  EXPECT_EQ(Make(writer).begin_token(), kEnd);
  writer.Set("tokenizer.ggml.bos_token_id", std::uint32_t{260});
  EXPECT_THAT(ErrorOf(writer), HasSubstr("tokenizer.ggml.bos_token_id"));
  writer.Remove("tokenizer.ggml.bos_token_id");
  EXPECT_THAT(ErrorOf(writer), HasSubstr("tokenizer.ggml.bos_token_id"));
}

TEST(Tokenizer, WhatItCannotEncodeIsRefusedByName) {
  GgufWriter writer = AbVocabulary();
  writer.Set("tokenizer.ggml.model", std::string("llama\n"));
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("a.gguf"), HasSubstr("tokenizer.ggml.model"),
                                     HasSubstr("'llama\\x0a'"), HasSubstr("gpt2")));
  writer = AbVocabulary();
  writer.Set("tokenizer.ggml.pre", std::string("qwen2"));
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("tokenizer.ggml.pre"), HasSubstr("'qwen2'"),
                                     HasSubstr("smollm"), HasSubstr("gpt-2")));
  for (const char* key : {"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens",
                          "tokenizer.ggml.merges"}) {
    writer = AbVocabulary();
    writer.Remove(key);
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr(key), HasSubstr("missing")));
    writer.Set(key, std::uint32_t{1});
    EXPECT_THAT(ErrorOf(writer), HasSubstr(key));
  }
}

TEST(Tokenizer, AVocabularyThatContradictsItselfIsRefused) {
  GgufWriter writer = AbVocabulary();
  writer.Set("tokenizer.ggml.token_type", std::vector<std::int32_t>(259, 1));
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("token_type"), HasSubstr("259"), HasSubstr("260")));

  writer = AbVocabulary();
  writer.Set("tokenizer.ggml.token_type", std::vector<float>(260, 1));
  EXPECT_THAT(ErrorOf(writer), HasSubstr("token_type"));

  writer = AbVocabulary();
  writer.Set("tokenizer.ggml.tokens", std::vector<std::string>{});
  EXPECT_THAT(ErrorOf(writer), HasSubstr("tokenizer.ggml.tokens"));

  writer = AbVocabulary();
  writer.Set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "a"});
  writer.Remove("tokenizer.ggml.token_type");
  writer.Set("tokenizer.ggml.merges", std::vector<std::string>{});
  EXPECT_THAT(ErrorOf(writer),
              AllOf(HasSubstr("tokenizer.ggml.tokens"), HasSubstr("'a'"), HasSubstr("0 and 3")));

  for (const char* merge : {"", " ", "ab", "a x\xC4\x80", "a bb", "bb a", "ab b", "a b "}) {
    writer = AbVocabulary();
    writer.Set("tokenizer.ggml.merges", std::vector<std::string>{"a b", merge});
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("tokenizer.ggml.merges"), HasSubstr("entry 1")))
        << merge;
  }
}

TEST(Tokenizer, EmptyTokensAreNeverGenerated) {
  GgufWriter writer = AbVocabulary();
  writer.Set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "b", "", "ab"});
  writer.Set("tokenizer.ggml.token_type", std::vector<std::int32_t>(5, 1));
  writer.Set("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  const Tokenizer tokenizer = Make(writer);
  EXPECT_FALSE(tokenizer.IsPlain(TokenId{1}));
  EXPECT_THAT(Encode(tokenizer, "ab"), ElementsAre(TokenId{4}));
}

}  // namespace

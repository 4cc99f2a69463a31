#include "kernels/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Isa, AnUnknownNameGetsASentenceThatNamesTheChoices) {
  const auto chosen = kernels::ChooseIsa("mmx");
  ASSERT_FALSE(chosen.has_value());
  EXPECT_THAT(chosen.error(),
              AllOf(HasSubstr("INGLENOOK_ISA is 'mmx'"), HasSubstr("scalar"), HasSubstr("unset")));
}

TEST(Isa, WithoutANameTheBestSetOfTheCpuIsChosen) {
  EXPECT_EQ(kernels::ChooseIsa("").value(), kernels::IsasOfThisCpu().front());
}

TEST(Isa, EachSetOfTheCpuCanBeNamed) {
  for (const auto name : kernels::IsasOfThisCpu()) {
    EXPECT_EQ(kernels::ChooseIsa(name).value(), name);
    ASSERT_NE(kernels::LeavesFor(name), nullptr);
    EXPECT_EQ(kernels::LeavesFor(name)->name, name);
  }
  EXPECT_EQ(kernels::IsasOfThisCpu().back(), "scalar");
}

// Proves that the tests of this binary run under the set that their names say.
TEST(Isa, TheForcedSetIsInForce) {
  const char* forced = std::getenv("INGLENOOK_ISA");
  const std::string_view expected =
      forced != nullptr ? std::string_view(forced) : kernels::IsasOfThisCpu().front();
  EXPECT_EQ(kernels::SelectIsa().value(), expected);
  EXPECT_EQ(kernels::Leaves().name, expected);
}

}  // namespace

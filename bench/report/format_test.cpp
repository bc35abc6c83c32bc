#include "bench/report/format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace convscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Shortened, JoinsNeighboursThatCountUp) {
  EXPECT_THAT(shortened({"a.cpu", "x.0.cuda", "x.1.cuda", "x.2.cuda", "x.4.cuda", "x.5.cuda", "b.cpu"}),
              ElementsAre("a.cpu", "x.{0..2}.cuda", "x.4.cuda", "x.5.cuda", "b.cpu"));
  EXPECT_THAT(shortened({"x.9", "x.10", "x.11"}), ElementsAre("x.{9..11}"));
}

TEST(Shortened, LeavesIdsWhoseNumbersAreNoPartsOfTheirOwn) {
  EXPECT_THAT(shortened({"fft16.cpu", "fft17.cpu", "fft18.cpu"}),
              ElementsAre("fft16.cpu", "fft17.cpu", "fft18.cpu"));
  EXPECT_THAT(shortened({"x.1.cpu", "y.2.cpu", "x.3.cuda"}), ElementsAre("x.1.cpu", "y.2.cpu", "x.3.cuda"));
  EXPECT_THAT(shortened({}), IsEmpty());
}

TEST(Wrapped, BreaksBetweenWordsOnly) {
  EXPECT_EQ(wrapped("one two three", 8, ""), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 9, "  "), "  one two\n  three");
  EXPECT_EQ(wrapped("unbreakable ab", 4, ""), "unbreakable\nab");
  EXPECT_EQ(wrapped("", 4, "  "), "  ");
  EXPECT_EQ(wrapped("one two three", 9, "", "  "), "one two\n  three");
  EXPECT_EQ(wrapped("\u00e4\u00f6 \u00fc", 4, ""), "\u00e4\u00f6 \u00fc") << "4 columns, 7 bytes";
}

std::string printed(const TextTable& table, size_t columns) {
  std::ostringstream out;
  out << left_out_text(table.print(out, {false, columns}), {false, columns});
  return out.str();
}

TEST(Table, ShortensHeadingsThenLeavesOutColumnsAndCutsNothing) {
  TextTable table({"<algorithm|id", ">median ms|ms", ">workspace", ">error"}, {2, 3});
  table.add({"a.cpu", "123456789", "3.0 MiB", "1.2e-06"}, '*');
  EXPECT_EQ(printed(table, 80),
            "  algorithm  median ms  workspace    error\n"
            "* a.cpu      123456789    3.0 MiB  1.2e-06\n");
  EXPECT_EQ(printed(table, 40),
            "  id            ms  workspace    error\n"
            "* a.cpu  123456789    3.0 MiB  1.2e-06\n");
  EXPECT_EQ(printed(table, 30),
            "  id            ms    error\n"
            "* a.cpu  123456789  1.2e-06\n"
            "  left out to fit 30 columns:\n"
            "  workspace (COLUMNS=70 shows\n"
            "  more)\n");
  EXPECT_EQ(printed(table, 1).substr(0, 39),
            "  id            ms\n"
            "* a.cpu  123456789\n ");
}

TEST(Table, CountsCharactersNotBytes) {
  TextTable table({"<name", ">n"});
  table.add({"m\u00e4rz", "1"});
  table.add({"april", "2"});
  EXPECT_EQ(printed(table, 80),
            "  name   n\n"
            "  m\u00e4rz   1\n"
            "  april  2\n");
}

TEST(Note, HangsBelowATableAndIsWrapped) {
  std::ostringstream out;
  print_note(out, "a note of some words", {true, 12}, colour::bad);
  EXPECT_EQ(out.str(), "\033[1;31m  a note of\n    some\n    words\033[0m\n");
}

TEST(Table, WrapsAColumnOfTextToTheWidthThatIsLeft) {
  TextTable table({"<name", "=what it is", ">n"});
  table.add({"a", "a sentence that has more letters than half of a line", "12"});
  EXPECT_EQ(printed(table, 48),
            "  name  what it is                             n\n"
            "  a     a sentence that has more letters      12\n"
            "        than half of a line\n");
  EXPECT_EQ(printed(table, 80),
            "  name  what it is                                             n\n"
            "  a     a sentence that has more letters than half of a line  12\n");
}

TEST(Heading, WrapsWhatStandsBelowTheTitleAndHasNoLineForNothing) {
  const auto heading = [](std::string_view below) {
    std::ostringstream out;
    print_heading(out, "title", below, Look(false, 20));
    return out.str();
  };
  EXPECT_EQ(heading("fp32 nchw, 2 threads, a processor\nlink"),
            "title\n  fp32 nchw, 2\n  threads, a\n  processor\n  link\n");
  EXPECT_EQ(heading(""), "title\n");
}

}  // namespace
}  // namespace convscope

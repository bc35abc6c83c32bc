// A short run of what scripts/fuzz does for long: each reader on its kept corpus and on seeded mutations of
// it.
#include "bench/cli/fuzz/readers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(CONVSCOPE_SOURCE_FOLDER) / "bench/cli/fuzz/corpus";

std::vector<std::string> corpus_of(const FuzzedReader& reader) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kCorpus / reader.name)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) texts.push_back(read_file(file.string()));
  return texts;
}

// Whether the reader takes the bytes; a failure of the test where it throws anything but UsageError.
bool is_taken(const FuzzedReader& reader, const std::string& bytes) {
  try {
    reader.read(bytes);
    return true;
  } catch (const UsageError& error) {
    EXPECT_STRNE(error.what(), "");
  } catch (const std::exception& error) {
    ADD_FAILURE() << reader.name << " threw \"" << error.what() << "\" on "
                  << ::testing::PrintToString(bytes);
  }
  return false;
}

class Mutator {
 public:
  std::string operator()(std::string text) {
    for (size_t changes = 1 + below(3); changes > 0; --changes) change(text);
    return text;
  }

 private:
  void change(std::string& text) {
    static const std::vector<std::string> words{"1e999",
                                                "-1",
                                                "0",
                                                "null",
                                                "true",
                                                "9223372036854775808",
                                                "18446744073709551616",
                                                "[[",
                                                "{",
                                                "]",
                                                "}",
                                                "\"",
                                                "\"\\ud8\"",
                                                "2147483648",
                                                "1e-320",
                                                "\n",
                                                "=",
                                                "\xff",
                                                "{}",
                                                "[]",
                                                "\"\"",
                                                std::string(300, '['),
                                                "nan",
                                                "x"};
    const size_t at = below(text.size() + 1), length = std::min(below(12), text.size() - at);
    switch (below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 3:
        text.replace(at, length, words[below(words.size())]);
        break;
      default:
        replace_value(text, words[below(words.size())]);
    }
  }
  // A JSON value or a word: the characters up to the next delimiter.
  void replace_value(std::string& text, const std::string& word) {
    const std::string delimiters = " ,:=[]{}()\n";
    const size_t begin = text.find_first_not_of(delimiters, below(text.size() + 1));
    if (begin == std::string::npos) return;
    text.replace(begin, std::min(text.find_first_of(delimiters, begin), text.size()) - begin, word);
  }
  size_t below(size_t end) { return random_() % end; }

  std::mt19937_64 random_{25};
};

class Readers : public ::testing::TestWithParam<FuzzedReader> {};

TEST_P(Readers, TakeTheirCorpusAndRefuseWhatIsDamagedWithOneSentence) {
  const FuzzedReader& reader = GetParam();
  const std::vector<std::string> corpus = corpus_of(reader);
  ASSERT_FALSE(corpus.empty());
  EXPECT_TRUE(std::any_of(corpus.begin(), corpus.end(),
                          [&](const std::string& text) { return is_taken(reader, text); }));
  Mutator mutate;
  constexpr size_t kBytes = 80'000;  // in all, so that large files cost no more time than small ones
  for (size_t bytes = 0, i = 0; bytes < kBytes && i < 200; ++i) {
    const std::string damaged = mutate(corpus[i % corpus.size()]);
    bytes += damaged.size();
    is_taken(reader, damaged);
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzzed, Readers,
                         ::testing::ValuesIn(fuzzed_readers().begin(), fuzzed_readers().end()),
                         [](const auto& reader) { return std::string(reader.param.name); });

}  // namespace
}  // namespace convscope

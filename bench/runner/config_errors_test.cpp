// Every way in which a config can be bad, and what the message must say: the file, the place, what was found,
// what is allowed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/core/error_of_test.hpp"
#include "bench/runner/config.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text)
      : path_(fmt::format("{}/config_errors_{}.json", ::testing::TempDir(), getpid())) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string error_of_file(const std::string& path) {
  return testing::error_of([&] { load_suite(path); });
}

struct BadText {
  std::string name;
  std::string text;
  std::vector<std::string> pieces;  // of the message
};

void PrintTo(const BadText& bad, std::ostream* out) {
  *out << bad.name;
}

class BadConfig : public ::testing::TestWithParam<BadText> {};

TEST_P(BadConfig, SaysWhichFileWhichPlaceWhatWasFoundAndWhatIsAllowed) {
  const TemporaryFile file(GetParam().text);
  const std::string error = error_of_file(file.path());
  EXPECT_THAT(error, ::testing::StartsWith(file.path() + ": "));
  for (const std::string& piece : GetParam().pieces) EXPECT_THAT(error, HasSubstr(piece));
  EXPECT_THAT(error, Not(HasSubstr("json.exception")));
  EXPECT_THAT(error, Not(HasSubstr("\n")));
}

// The smallest good config with more keys at the top, or with other ones in its only layer.
std::string with(const std::string& keys) {
  return R"({"name": "n", "layers": [{"name": "a", "in_channels": 4, "input": [8, 8], "out_channels": 4, "filter": 3}], )" +
         keys + "}";
}
std::string layer_text(const std::string& keys) {
  return R"({"name": "n", "layers": [{"name": "a", )" + keys + "}]}";
}
const std::string kSizes = R"("in_channels": 4, "input": [8, 8], "out_channels": 4, "filter": 3)";

const BadText kBadTexts[] = {
    // Text that is not JSON
    {"Empty", "", {"line 1, column 1", "the file is empty", "allowed is a JSON object"}},
    {"BlanksOnly", " \n\t", {"line 1, column 1", "the file is empty"}},
    {"Utf16", "\xFF\xFE{\0}\0", {"line 1, column 1", "UTF-16", "allowed is JSON in UTF-8"}},
    {"MissingComma", "{\n  \"name\": \"n\"\n  \"layers\": []\n}", {"line 3, column 10", "expected '}'"}},
    {"CutShort", "{\"name\": \"n\",", {"line 1, column 14", "unexpected end of input"}},
    {"TextAfterTheEnd", with("\"source\": \"s\"") + "\n\n x", {"line 3, column 2", "expected end of input"}},
    {"Comment", "{ // no\n}", {"line 1, column 3", "invalid literal"}},
    {"SyntaxAfterUtf8Mark", "\xEF\xBB\xBF{,}", {"line 1, column 2", "unexpected ','"}},
    {"NotUtf8", "{\"name\": \"\xC3(\"}", {"line 1, column 12", "ill-formed UTF-8"}},
    {"NotANumber", "{\"name\": NaN}", {"line 1, column 10", "invalid literal"}},
    {"NumberBeyondDouble",
     with("\"measuring\": {\"time_limit_s\": 1e999}"),
     {"at /measuring/time_limit_s", "'1e999'", "allowed is a number below 1e308"}},
    {"KeyTwice",
     with("\"source\": \"s\", \"source\": \"t\""),
     {"at /source", "\"source\" is there twice", "allowed is once"}},
    {"KeyTwiceInALayer",
     layer_text(kSizes + ", \"filter\": 5"),
     {"at /layers/0/filter", "\"filter\" is there twice"}},
    // The top level
    {"TopLevelIsAList", "[]", {"at the top level", "found an empty list", "allowed is an object", "layers"}},
    {"TopLevelIsAText", "\"alexnet\"", {"at the top level", "found the text \"alexnet\""}},
    {"TopLevelIsNull", "null", {"at the top level", "found null"}},
    {"MissingLayers",
     "{\"name\": \"n\"}",
     {"at the top level", "\"layers\" is missing", "needed are name, layers"}},
    {"MissingName", "{\"layers\": []}", {"at the top level", "\"name\" is missing"}},
    {"UnknownKey",
     with("\"pases\": \"forward\""),
     {"at /pases", "unknown key \"pases\"", "did you mean \"passes\"?", "allowed are $schema, name"}},
    {"UnknownKeyWithASlash", with("\"a/b\": 1"), {"at /a~1b", "unknown key \"a/b\""}},
    {"NameIsANumber", "{\"name\": 3, \"layers\": [1]}", {"at /name", "found the number 3", "1 to 100 bytes"}},
    {"NameIsEmpty", "{\"name\": \"\", \"layers\": [1]}", {"at /name", "found the text \"\""}},
    {"NameHasALineBreak",
     "{\"name\": \"a\\nb\", \"layers\": [1]}",
     {"at /name", "\"a\\nb\"", "without control characters"}},
    {"NameIsTooLong",
     "{\"name\": \"" + std::string(101, 'x') + "\", \"layers\": [1]}",
     {"at /name", "xxx...", "1 to 100 bytes"}},
    {"SourceIsAList", with("\"source\": [\"a\"]"), {"at /source", "found the list [\"a\"]", "a text"}},
    {"SchemaIsANumber", with("\"$schema\": 1"), {"at /$schema", "found the number 1", "a text"}},
    // Layers
    {"NoLayers",
     "{\"name\": \"n\", \"layers\": []}",
     {"at /layers", "found an empty list", "a list with at least one entry"}},
    {"LayersIsAnObject",
     "{\"name\": \"n\", \"layers\": {\"conv1\": {}}}",
     {"at /layers", "found an object", "a list"}},
    {"LayerIsAText",
     "{\"name\": \"n\", \"layers\": [\"conv1\"]}",
     {"at /layers/0", "found the text \"conv1\"", "an object with the keys name, in_channels"}},
    {"MissingLayerKey",
     layer_text("\"in_channels\": 4, \"input\": 8, \"out_channels\": 4"),
     {"at /layers/0", "\"filter\" is missing", "needed are name, in_channels, input, out_channels, filter"}},
    {"UnknownLayerKey",
     layer_text(kSizes + ", \"padding\": 1"),
     {"at /layers/0/padding", "unknown key \"padding\"", "allowed are name, in_channels"}},
    {"MisspelltLayerKey",
     layer_text(kSizes + ", \"strides\": 2"),
     {"at /layers/0/strides", "did you mean \"stride\"?"}},
    {"SameLayerName",
     R"({"name": "n", "layers": [{"name": "a", )" + kSizes + R"(}, {"name": "b", )" + kSizes +
         R"(}, {"name": "a", )" + kSizes + "}]}",
     {"at /layers/2/name", "found the text \"a\"", "no other layer has", "/layers/0"}},
    {"ZeroStride",
     layer_text(kSizes + ", \"stride\": 0"),
     {"at /layers/0/stride", "found the number 0", "allowed is a whole number from 1 to 2147483648"}},
    {"UnknownOperation",
     layer_text(kSizes + ", \"after\": [\"rellu\"]"),
     {"at /layers/0/after/0", "found the text \"rellu\"", "bias, relu, lrn, batch_norm, add with",
      "did you mean \"relu\"?"}},
    {"OperationIsANumber",
     layer_text(kSizes + ", \"after\": 3"),
     {"at /layers/0/after", "found the number 3", "as in \"pool 3x3/2\""}},
    {"MeanWithoutAStride",
     layer_text(kSizes + ", \"after\": [\"mean 3x3\"]"),
     {"at /layers/0/after/0", "found the text \"mean 3x3\"", "pool or mean with window and stride"}},
    {"MeanThatCountsNoPaddingAndHasNone",
     layer_text(kSizes + ", \"after\": [\"mean 3x3/1 uncounted\"]"),
     {"found the text \"mean 3x3/1 uncounted\"", "as in \"mean 3x3/1 pad 1 uncounted\""}},
    {"MeanOfPaddingAlone",
     layer_text(kSizes + ", \"after\": [\"mean 2x2/1 pad 2\"]"),
     {"found the text \"mean 2x2/1 pad 2\"", "a padding smaller than the window"}},
    {"MeanLargerThanItsImage",
     layer_text(kSizes + ", \"after\": [\"mean 99x99/1\"]"),
     {"at /layers/0/after/0", "a window that fits the image, which is"}},
    {"BiasAfterRelu",
     layer_text(kSizes + ", \"after\": [\"relu\", \"bias\"]"),
     {"at /layers/0/after/1", "bias as the first operation only"}},
    {"PoolLargerThanItsImage",
     layer_text(kSizes + ", \"after\": [\"pool 99x99/1\"]"),
     {"at /layers/0/after/0", "a window that fits the image, which is"}},
    {"NegativePad",
     layer_text(kSizes + ", \"pad\": [1, -1]"),
     {"at /layers/0/pad/1", "found the number -1", "from 0 to 2147483648"}},
    {"ZeroDilation",
     layer_text(kSizes + ", \"dilation\": 0"),
     {"at /layers/0/dilation", "found the number 0", "from 1"}},
    {"ZeroChannels",
     layer_text("\"in_channels\": 0, \"input\": 8, \"out_channels\": 4, \"filter\": 3"),
     {"at /layers/0/in_channels", "found the number 0", "from 1"}},
    {"ZeroCount",
     layer_text(kSizes + ", \"count\": 0"),
     {"at /layers/0/count", "found the number 0", "from 1"}},
    {"FractionalSize",
     layer_text(kSizes + ", \"groups\": 2.0"),
     {"at /layers/0/groups", "found the number 2.0", "a whole number"}},
    {"SizeAsText",
     layer_text(kSizes + ", \"groups\": \"2\""),
     {"at /layers/0/groups", "found the text \"2\"", "a whole number"}},
    {"SizeIsNull",
     layer_text(kSizes + ", \"batch\": null"),
     {"at /layers/0/batch", "found null", "a whole number"}},
    {"SizeBeyond31Bits",
     layer_text(kSizes + ", \"pad\": 2147483649"),
     {"at /layers/0/pad", "found the number 2147483649", "to 2147483648"}},
    {"SizeBeyondSigned64Bits",
     layer_text(kSizes + ", \"groups\": 18446744073709551615"),
     {"at /layers/0/groups", "found the number 18446744073709551615", "to 2147483648"}},
    {"SizeBeyond64Bits",
     layer_text(kSizes + ", \"groups\": 18446744073709551617"),
     {"at /layers/0/groups", "found the number 1.84467", "to 2147483648"}},
    {"ThreeExtents",
     layer_text("\"in_channels\": 4, \"input\": [8, 8, 8], \"out_channels\": 4, \"filter\": 3"),
     {"at /layers/0/input", "found the list [8,8,8]", "[h, w] or one number for both"}},
    {"ExtentIsAText",
     layer_text("\"in_channels\": 4, \"input\": \"8x8\", \"out_channels\": 4, \"filter\": 3"),
     {"at /layers/0/input", "found the text \"8x8\"", "[h, w] or one number for both"}},
    {"FirstIsANumber",
     layer_text(kSizes + ", \"first\": 1"),
     {"at /layers/0/first", "found the number 1", "true or false"}},
    {"FilterLargerThanTheInput",
     layer_text(kSizes + ", \"dilation\": 5"),
     {"at /layers/0", "the filter reaches 11x11", "the padded input's 8x8"}},
    {"GroupsDoNotDivide",
     layer_text(kSizes + ", \"groups\": 3"),
     {"at /layers/0", "in_channels is 4", "not divisible by groups (3)"}},
    {"ProductOverflows64Bits",
     layer_text(R"("in_channels": 2147483648, "input": 2147483648, "out_channels": 4, "filter": 3)"),
     {"at /layers/0", "the input tensor's size overflows 64 bits"}},
    {"BatchOverflows64Bits",
     layer_text(
         R"("in_channels": 1000000, "input": 30000, "out_channels": 4, "filter": 3, "batch": 2000000000)"),
     {"at /layers/0", "batch 2000000000", "overflows 64 bits"}},
    // Lists and names
    {"BatchIsAText",
     with("\"batch\": \"16\""),
     {"at /batch", "found the text \"16\"", "a whole number from 1"}},
    {"BatchOfAnUnknownDevice",
     with("\"batch\": {\"gpu\": 16}"),
     {"at /batch/gpu", "unknown key \"gpu\"", "allowed are cpu, cuda, emulator"}},
    {"BatchIsZero",
     with("\"batch\": {\"cpu\": [1, 0]}"),
     {"at /batch/cpu/1", "found the number 0", "from 1"}},
    {"UnknownDevice",
     with("\"devices\": [\"cpu\", \"cudo\"]"),
     {"at /devices/1", "found the text \"cudo\"", "allowed is cpu, cuda (the first), cuda:N",
      "did you mean \"cuda\"?"}},
    {"UnknownPass",
     with("\"passes\": [\"foward\"]"),
     {"at /passes/0", "found the text \"foward\"", "forward, backward_data, backward_filter",
      "did you mean \"forward\"?"}},
    {"UnknownMath",
     with("\"math\": \"fp64\""),
     {"at /math", "found the text \"fp64\"", "fp32, tf32, 3xtf32, bf16, fp16"}},
    {"UnknownLayout",
     with("\"layouts\": [\"NCHW\"]"),
     {"at /layouts/0", "found the text \"NCHW\"", "nchw, nhwc, chwn", "did you mean \"nchw\"?"}},
    {"UnknownEpilogue",
     with("\"epilogues\": [\"gelu\"]"),
     {"at /epilogues/0", "found the text \"gelu\"", "none, relu, bias, bias+relu"}},
    {"PassIsANumber",
     with("\"passes\": [1]"),
     {"at /passes/0", "found the number 1", "forward, backward_data"}},
    {"EmptyPasses", with("\"passes\": []"), {"at /passes", "found an empty list", "at least one entry"}},
    {"EmptyAlgorithms", with("\"algorithms\": []"), {"at /algorithms", "found an empty list"}},
    {"EmptyCaches", with("\"measuring\": {\"cache\": []}"), {"at /measuring/cache", "found an empty list"}},
    {"SamePassTwice",
     with("\"passes\": [\"forward\", \"forward\"]"),
     {"at /passes/1", "found the text \"forward\"", "every entry once"}},
    {"NegativeThreads",
     with("\"threads\": [-1]"),
     {"at /threads/0", "found the number -1", "from 0 to 4096"}},
    {"FlagIsAText",
     with("\"first_backward_data\": \"yes\""),
     {"at /first_backward_data", "found the text \"yes\"", "true or false"}},
    // Measuring
    {"MeasuringIsAList",
     with("\"measuring\": [\"cold\"]"),
     {"at /measuring", "found the list [\"cold\"]", "an object with the keys cache, workspace_cap"}},
    {"UnknownMeasuringKey",
     with("\"measuring\": {\"time_limit\": 3}"),
     {"at /measuring/time_limit", "unknown key \"time_limit\"", "did you mean \"time_limit_s\"?"}},
    {"UnknownCache",
     with("\"measuring\": {\"cache\": \"warm\"}"),
     {"at /measuring/cache", "found the text \"warm\"", "cold, hot, weights-cold"}},
    {"CapWithAnUnknownUnit",
     with("\"measuring\": {\"workspace_cap\": \"256MB\"}"),
     {"at /measuring/workspace_cap", "found the text \"256MB\"", "MiB", "inf"}},
    {"NegativeCap",
     with("\"measuring\": {\"workspace_cap\": -1}"),
     {"at /measuring/workspace_cap", "found the number -1", "from 0"}},
    {"CapOverflows",
     with("\"measuring\": {\"workspace_cap\": [\"9999999TiB\"]}"),
     {"at /measuring/workspace_cap/0", "found the text \"9999999TiB\""}},
    {"ZeroTimeLimit",
     with("\"measuring\": {\"time_limit_s\": 0}"),
     {"at /measuring/time_limit_s", "found the number 0", "above 0, at most 86400"}},
    {"TimeLimitIsAText",
     with("\"measuring\": {\"time_limit_s\": \"15s\"}"),
     {"at /measuring/time_limit_s", "found the text \"15s\"", "a number above 0"}},
    {"NegativeStageLimit",
     with("\"measuring\": {\"stage_limit_s\": -1}"),
     {"at /measuring/stage_limit_s", "found the number -1", "from 0 to 86400"}},
    {"ZeroSamples",
     with("\"measuring\": {\"min_samples\": 0}"),
     {"at /measuring/min_samples", "found the number 0", "from 1 to 1000000"}},
    {"MoreSamplesNeededThanAllowed",
     with("\"measuring\": {\"min_samples\": 20, \"max_samples\": 10}"),
     {"at /measuring/min_samples", "found the number 20", "at most max_samples, which is 10"}},
    {"WideConfidence",
     with("\"measuring\": {\"confidence_width\": 2}"),
     {"at /measuring/confidence_width", "found the number 2", "at most 1"}},
    {"NegativeSeed",
     with("\"measuring\": {\"seed\": -4}"),
     {"at /measuring/seed", "found the number -4", "from 0"}},
};

INSTANTIATE_TEST_SUITE_P(EveryFault, BadConfig, ::testing::ValuesIn(kBadTexts),
                         [](const auto& instance) { return instance.param.name; });

TEST(BadConfigFile, ThatDoesNotExistIsNamed) {
  EXPECT_EQ(error_of_file("no/such.json"),
            "no/such.json: cannot be read: No such file or directory; allowed is the path of a JSON file");
}

TEST(BadConfigFile, ThatIsAFolderIsNamed) {
  EXPECT_THAT(error_of_file(::testing::TempDir()), HasSubstr("cannot be read: Is a directory"));
}

TEST(BadConfigFile, WhoseReadingFailsIsNamed) {
  // Address 0 of a process is not mapped, so reading there fails after a successful opening.
  EXPECT_THAT(error_of_file("/proc/self/mem"), HasSubstr("/proc/self/mem: cannot be read: "));
}

TEST(BadConfigFile, ThatMayNotBeReadIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryFile file("{}");
  std::filesystem::permissions(file.path(), std::filesystem::perms::none);
  EXPECT_THAT(error_of_file(file.path()), HasSubstr("cannot be read: Permission denied"));
}

TEST(BadConfigFile, WithoutEndIsRefusedBeforeItFillsTheMemory) {
  EXPECT_THAT(error_of_file("/dev/zero"), HasSubstr("larger than 16 MiB"));
}

TEST(BadConfigFile, NestedAMillionDeepIsRefused) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const TemporaryFile file(deep);
  EXPECT_THAT(error_of_file(file.path()),
              HasSubstr("/0/0/0: found lists or objects nested more than 32 deep"));
}

}  // namespace
}  // namespace convscope

#include "bench/record/result_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/core/error.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/record/record_json.hpp"
#include "bench/record/test_records.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using testing::error_of;

class ResultFiles : public ::testing::Test {
 protected:
  ResultFiles() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("convscope_" + std::to_string(getpid()) + "_" + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ResultFiles() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string text(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name) << content;
  }

  fs::path folder_;
};

ResultFile sample() {
  ResultFile file;
  file.argv = {"convscope", "run", "configs/alexnet.json"};
  file.config = {{"name", "alexnet"}};
  file.environment = {{"kernel", "6.1"}};
  file.ceilings = {measured("direct.cpu", 1).ceilings};
  file.records = {complete_record(), measured("direct.cpu", 0.01),
                  refused("fft16.cpu", Outcome::unsupported, Reason::unsupported_stride, "no, \"stride\"")};
  return file;
}

TEST_F(ResultFiles, ReadBackWhatWasWritten) {
  write_results(path("deep/folder"), sample());
  for (const std::string& where : {path("deep/folder"), path("deep/folder/results.json")}) {
    const ResultFile again = read_results(where);
    EXPECT_EQ(again.argv, sample().argv);
    EXPECT_EQ(again.config, sample().config);
    EXPECT_EQ(again.environment, sample().environment);
    ASSERT_EQ(again.ceilings.size(), 1u);
    EXPECT_EQ(to_json(again.ceilings[0]), to_json(sample().ceilings[0]));
    ASSERT_EQ(again.records.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(to_json(again.records[i]), to_json(sample().records[i]));
  }
}

// "{}" as `xz -9e` packs it.
constexpr unsigned char kPackedBraces[] = {
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21,
    0x01, 0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0x01, 0x00, 0x01, 0x7b, 0x7d, 0x00,
    0x00, 0x00, 0x5d, 0xd5, 0xde, 0x75, 0x6a, 0x59, 0x91, 0x93, 0x00, 0x01, 0x1a, 0x02, 0xdc,
    0x2e, 0xa5, 0x7e, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a};

TEST_F(ResultFiles, AreReadFromAKeptRunAsFromItsFolder) {
  write("kept.json.xz", std::string(reinterpret_cast<const char*>(kPackedBraces), sizeof kPackedBraces));
  EXPECT_THAT(error_of([&] { read_results(path("kept.json.xz")); }), HasSubstr("no schema_version"));
  write("kept.json.xz", std::string(reinterpret_cast<const char*>(kPackedBraces), sizeof kPackedBraces - 9));
  EXPECT_THAT(error_of([&] { read_results(path("kept.json.xz")); }),
              AllOf(HasSubstr("kept.json.xz"), HasSubstr("cut off")));
}

TEST_F(ResultFiles, ThatGzipCompressedAreCalledThat) {
  write("kept.json.gz", "\x1f\x8b\x08 and more");
  EXPECT_THAT(error_of([&] { read_results(path("kept.json.gz")); }),
              AllOf(HasSubstr("kept.json.gz: it is compressed by gzip"), HasSubstr("unpack it with gunzip")));
}

TEST_F(ResultFiles, OfAPathThatHasNoneAreSaidToBeWhereTheyAre) {
  const auto error = [&](const std::string& name) { return error_of([&] { read_results(path(name)); }); };
  write("kept.json.xz", "");
  EXPECT_THAT(error("kept"), HasSubstr("kept: there is no such file; did you mean " + path("kept.json.xz")));
  EXPECT_THAT(error("nothing"), HasSubstr("nothing: cannot read this file: No such file"));
  fs::create_directories(path("interrupted"));
  EXPECT_THAT(error("interrupted"), HasSubstr("interrupted/results.json: cannot read this file"));
  write("interrupted/journal.jsonl", "{\"kind\":\"run\",\"schema\":3}\n");
  EXPECT_THAT(error("interrupted"), HasSubstr("--resume " + path("interrupted") + " finishes it"));
  write("interrupted/journal.jsonl", "{\"schema_version\":1}\n");
  EXPECT_THAT(error("interrupted"), HasSubstr("interrupted/results.json: cannot read this file"));
  write("interrupted/tasks.json", "{}");
  EXPECT_THAT(error("interrupted"),
              HasSubstr("it holds no run but rows, of a step, operations or allreduce"));
}

TEST_F(ResultFiles, AreReplacedWholeAndLeaveNothingElse) {
  ResultFile file = sample();
  write_results(path("out"), file);
  file.records.resize(1);
  write_results(path("out"), file);
  EXPECT_EQ(read_results(path("out")).records.size(), 1u);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path("out"))) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("results.json", "results.csv"));
}

TEST_F(ResultFiles, HoldNoRecordsAfterAnEmptyRun) {
  write_results(path("out"), ResultFile{});
  EXPECT_TRUE(read_results(path("out")).records.empty());
}

TEST_F(ResultFiles, OfTheFirstSchemaVersionAreReadWithoutWhatTheyLack) {
  Json json = {{"schema_version", 1}, {"argv", Json::array()}, {"ceilings", Json::array()}};
  json["records"] = {to_json(complete_record())};
  for (const char* name : {"sampling", "answer"}) json["records"][0].erase(name);
  json["records"][0]["key"].erase("knobs");
  write("results.json", json.dump());
  const ResultFile file = read_results(folder_.string());
  EXPECT_EQ(file.schema_version, 1);
  ASSERT_EQ(file.records.size(), 1u);
  EXPECT_EQ(file.records[0].key.layer, complete_record().key.layer);
  EXPECT_EQ(file.records[0].answer, std::nullopt);
}

TEST_F(ResultFiles, SayWhatIsWrongWithAFile) {
  const auto error = [&](const std::string& content) {
    write("results.json", content);
    return error_of([&] { read_results(folder_.string()); });
  };
  EXPECT_THAT(error("{\n \"a\": ,}"),
              AllOf(HasSubstr("results.json"), HasSubstr("not JSON"), HasSubstr("line 2")));
  EXPECT_THAT(error("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(error("{}"), HasSubstr("no schema_version"));
  EXPECT_THAT(error(R"({"schema_version": 1, "rows": []})"), HasSubstr("no run but rows, of a step"));
  EXPECT_THAT(error("{\"schema_version\": 0}"), AllOf(HasSubstr("is 0"), HasSubstr("reads versions 1 to 3")));
  EXPECT_THAT(error("{\"schema_version\": 4}"), HasSubstr("/schema_version is 4"));
  EXPECT_THAT(error("{\"schema_version\": \"1\"}"), HasSubstr("/schema_version is \"1\""));
  EXPECT_THAT(error("{\"schema_version\": 2}"), HasSubstr("/argv: expected a list"));
  EXPECT_THAT(error("{\"schema_version\": 2, \"argv\": [1], \"ceilings\": [], \"records\": []}"),
              HasSubstr("/argv/0: expected text"));
  Json json = {{"schema_version", 2}, {"argv", Json::array()}, {"ceilings", Json::array()}};
  json["records"] = {to_json(complete_record()), to_json(complete_record())};
  json["records"][1]["key"]["count"] = "x";
  EXPECT_THAT(error(json.dump()), AllOf(HasSubstr("/records/1: "), HasSubstr("/key/count")));
  json["records"][1] = json["records"][0];
  json["records"][1].erase("sampling");
  EXPECT_THAT(error(json.dump()), AllOf(HasSubstr("/records/1: "), HasSubstr("/sampling: missing")));
  EXPECT_THAT(error_of([&] { read_results(path("nowhere")); }),
              AllOf(HasSubstr("nowhere"), HasSubstr("No such file")));
}

TEST_F(ResultFiles, OfAnyDepthEndWithOneSentence) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string text = "{\"schema_version\": 3, \"argv\": [], \"ceilings\": [], \"records\": [";
    for (int depth = 0; depth < 200'000; ++depth) text += open;
    write("results.json", text);
    EXPECT_THAT(error_of([&] { read_results(folder_.string()); }),
                AllOf(HasSubstr("results.json"), HasSubstr("nested more than 128 deep")));
  }
  write("results.json", "{\"schema_version\": 3, \"argv\": [\"[[\\\"{\", 1]" + std::string(200, ' ') + "}");
  EXPECT_THAT(error_of([&] { read_results(folder_.string()); }), HasSubstr("/argv/1"))
      << "brackets in a text are none";
}

TEST_F(ResultFiles, OfAFaultTheLibrarysNameIsNotTold) {
  for (const char* text : {"{", "{\"a\": 1e999}", "\xff"}) {
    write("results.json", text);
    EXPECT_THAT(error_of([&] { read_results(folder_.string()); }),
                AllOf(HasSubstr("results.json"), ::testing::Not(HasSubstr("json.exception"))));
  }
}

TEST_F(ResultFiles, AreRefusedWhereMergingWouldReadNonsenseInTheirEnvironment) {
  const auto error = [&](const char* environment) {
    write("results.json",
          std::string("{\"schema_version\": 3, \"argv\": [], \"ceilings\": [], \"records\": [], "
                      "\"environment\": ") +
              environment + "}");
    return error_of([&] { read_results(folder_.string()); });
  };
  EXPECT_EQ(error("{\"complete\": false, \"shard\": {\"index\": 2, \"count\": 3}}"), "");
  EXPECT_THAT(error("[]"), HasSubstr("/environment: expected an object"));
  EXPECT_THAT(error("{\"complete\": 3}"), HasSubstr("/environment/complete: expected true or false"));
  EXPECT_THAT(error("{\"shard\": {\"index\": 1, \"count\": 1000000000000000000}}"),
              HasSubstr("/environment/shard/count: expected a whole number from 1 to 1000000"));
  EXPECT_THAT(error("{\"shard\": {\"index\": 4, \"count\": 3}}"), HasSubstr("at most the count"));
  EXPECT_THAT(error("{\"merged_from\": [{\"folder\": 1}]}"), HasSubstr("/environment/merged_from/0/folder"));
  EXPECT_THAT(error("{\"merged_from\": [{\"environment\": {\"shard\": 1}}]}"),
              HasSubstr("/environment/merged_from/0/environment/shard: expected an object"));
}

TEST_F(ResultFiles, AWriteThatFailsLeavesNothingThatTakesRoom) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string said;
  try {
    write_file_atomically(path("big"), std::string(5000, 'x'));
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(said, AllOf(HasSubstr("big.writing"), HasSubstr("File too large")));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ResultFiles, NameTheFolderThatCannotBeWritten) {
  write("file", "in the way");
  EXPECT_THAT(error_of([&] { write_results(path("file/out"), sample()); }),
              AllOf(HasSubstr("file/out"), HasSubstr("Not a directory")));
  EXPECT_THAT(error_of([&] { Journal::begin(path("file/out")); }), HasSubstr("Not a directory"));
  const std::string long_name = path(std::string(300, 'x'));
  EXPECT_THAT(error_of([&] { write_results(long_name, sample()); }), HasSubstr("name too long"));
  EXPECT_THAT(error_of([&] { Journal::begin(long_name); }), HasSubstr("name too long"));
  EXPECT_THAT(error_of([&] { read_results(long_name); }), HasSubstr("name too long"));
  EXPECT_THAT(error_of([&] { check_can_be_written(folder_.string()); }), HasSubstr("it is a folder"));
}

TEST_F(ResultFiles, ThatTheDiskDoesNotTakeAreNoUsageError) {
  fs::create_directories(path("out/results.json"));
  try {
    write_results(path("out"), sample());
    FAIL() << "a file took the place of a folder";
  } catch (const UsageError& error) {
    FAIL() << error.what();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("results.json"), HasSubstr("Is a directory")));
  }
}

TEST_F(ResultFiles, JournalHoldsEveryEntryInOrder) {
  {
    Journal journal = Journal::begin(path("out"));
    journal.append({{"kind", "run"}});
    journal.append({{"kind", "record"}, {"record", to_json(complete_record())}});
    EXPECT_EQ(Journal::read(path("out")).size(), 2u) << "entries are there before the journal is closed";
  }
  Journal::resume(path("out")).append({{"kind", "benchmark"}});
  const auto entries = Journal::read(path("out"));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0]["kind"], "run");
  EXPECT_EQ(to_json(record_from_json(entries[1]["record"])), to_json(complete_record()));
  EXPECT_EQ(entries[2]["kind"], "benchmark");
}

TEST_F(ResultFiles, JournalCutShortAtAnyByteKeepsItsWholeLines) {
  {
    Journal journal = Journal::begin(path("out"));
    journal.append({{"kind", "run"}, {"number", 1}});
    journal.append({{"kind", "record"}, {"number", 2}});
  }
  const std::string whole = text("out/journal.jsonl");
  const size_t first_line = whole.find('\n') + 1;
  for (size_t size = 0; size <= whole.size(); ++size) {
    write("out/journal.jsonl", whole.substr(0, size));
    const size_t kept = size == whole.size() ? 2 : size >= first_line ? 1 : 0;
    EXPECT_EQ(Journal::read(path("out")).size(), kept) << "cut after " << size << " bytes";
    Journal::resume(path("out")).append({{"kind", "record"}, {"number", 3}});
    const auto entries = Journal::read(path("out"));
    ASSERT_EQ(entries.size(), kept + 1) << "cut after " << size << " bytes";
    EXPECT_EQ(entries.back()["number"], 3);
  }
}

TEST_F(ResultFiles, JournalKeepsNoBeginningOfAnEntryThatTheDiskDidNotTake) {
  std::signal(SIGXFSZ, SIG_IGN);
  Journal journal = Journal::begin(path("out"));
  journal.append({{"number", 1}});
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string said;
  try {
    journal.append({{"text", std::string(500, 'x')}});
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(said, AllOf(HasSubstr("journal.jsonl"), HasSubstr("File too large")));
  journal.append({{"number", 2}});
  const auto entries = Journal::read(path("out"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].at("number"), 2);
}

TEST_F(ResultFiles, JournalIsBegunOnlyWhereNoWholeLineIs) {
  write("journal.jsonl", "{\"kind\": \"ru");
  Journal::begin(folder_.string()).append({{"kind", "run"}, {"number", 1}});
  EXPECT_EQ(Journal::read(folder_.string()).size(), 1u);
  EXPECT_THAT(error_of([&] { Journal::begin(folder_.string()); }), HasSubstr("--resume"));
  EXPECT_THAT(error_of([&] { Journal::begin(folder_.string(), false); }),
              ::testing::EndsWith("(journal.jsonl); choose another --out"));
  EXPECT_EQ(Journal::read(folder_.string()).size(), 1u);
}

TEST_F(ResultFiles, JournalHasOneWriterAtATime) {
  {
    const Journal journal = Journal::begin(path("out"));
    EXPECT_THAT(error_of([&] { Journal::begin(path("out")); }), HasSubstr("another process"));
    EXPECT_THAT(error_of([&] { Journal::resume(path("out")); }), HasSubstr("another process"));
  }
  EXPECT_NO_THROW(Journal::resume(path("out")));
}

TEST_F(ResultFiles, JournalThatIsMissingIsNotMadeByResuming) {
  EXPECT_THAT(error_of([&] { Journal::resume(folder_.string()); }), HasSubstr("no run to go on with"));
  EXPECT_THAT(error_of([&] { Journal::resume(path("none")); }), HasSubstr("no such folder"));
  EXPECT_FALSE(fs::exists(path("journal.jsonl")));
}

TEST_F(ResultFiles, JournalSaysWhatIsWrong) {
  EXPECT_THAT(error_of([&] { Journal::read(path("nowhere")); }),
              AllOf(HasSubstr("nowhere/journal.jsonl"), HasSubstr("No such file")));
  write("journal.jsonl", "{\"kind\": \"run\"}\nnonsense\n{}\n");
  EXPECT_THAT(error_of([&] { Journal::read(folder_.string()); }), HasSubstr("journal.jsonl:2: "));
}

// By links, so that a write that replaces its target replaces a link of this test and no device.
TEST_F(ResultFiles, WriteToADeviceAndNeverReplaceIt) {
  fs::create_symlink("/dev/null", path("nowhere"));
  write_file_atomically(path("nowhere"), "text");
  EXPECT_TRUE(fs::is_symlink(path("nowhere")));
  fs::create_symlink("/dev/full", path("full"));
  EXPECT_THAT([&] { write_file_atomically(path("full"), "text"); },
              ::testing::ThrowsMessage<UsageError>(
                  AllOf(HasSubstr("full: cannot write this file"), HasSubstr("No space left on device"))));
  EXPECT_TRUE(fs::is_symlink(path("full")));
  EXPECT_FALSE(fs::exists(path("full.writing")));
}

TEST_F(ResultFiles, WriteToAPipe) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread reader([&] { EXPECT_EQ(text("pipe"), "through"); });
  write_file_atomically(path("pipe"), "through");
  reader.join();
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

}  // namespace
}  // namespace convscope

#include "bench/record/record_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/core/error_of_test.hpp"
#include "bench/record/test_records.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::string error_of(const Json& json) {
  return testing::error_of([&] { record_from_json(json); });
}

Json changed(const char* pointer, Json value) {
  Json json = to_json(complete_record());
  json[Json::json_pointer(pointer)] = std::move(value);
  return json;
}

// Every leaf of a JSON text as "pointer value".
std::vector<std::string> leaves(const Json& json) {
  std::vector<std::string> lines;
  const Json flat = json.flatten();
  for (const auto& [place, value] : flat.items()) lines.push_back(place + " " + value.dump());
  return lines;
}

TEST(RecordJson, RoundTripsACompleteRecord) {
  const ResultRecord record = complete_record();
  const Json json = Json::parse(dump_json(to_json(record)));
  const ResultRecord again = record_from_json(json);
  EXPECT_EQ(leaves(to_json(again)), leaves(json));
  // A few fields by hand, so that a field read into the wrong place on both ways is seen.
  EXPECT_EQ(again.key.problem, record.key.problem);
  EXPECT_EQ(again.key.seed, 18446744073709551615u);
  EXPECT_EQ(again.key.workspace_cap, int64_t{256} << 20);
  EXPECT_EQ(again.key.cache, CacheState::weights_cold);
  EXPECT_EQ(again.sampling, (SamplingRule{2.5, 20, 300, 0.02, true, 90}));
  EXPECT_EQ(again.reason, Reason::throttled);
  EXPECT_EQ(again.note, record.note);
  EXPECT_EQ(again.time->full.samples, record.time->full.samples);
  EXPECT_EQ(again.time->repeat->statistics.stddev, record.time->repeat->statistics.stddev);
  EXPECT_EQ(again.time->phase_seconds, record.time->phase_seconds);
  EXPECT_EQ(again.accuracy.integers_exact, true);
  EXPECT_EQ(again.health.clock_mhz, 3400.5);
  EXPECT_EQ(again.ceilings.cache_read_bytes, 2e11);
  EXPECT_EQ(again.device.memory_bytes, int64_t{24} << 30);
  EXPECT_EQ(again.operations.transform_flops, 2e8);
  EXPECT_EQ(again.operations.cached_bytes, 4e8);
  EXPECT_EQ(again.key.knobs, 40);
  EXPECT_EQ(again.key.device_index, 1);
  ASSERT_TRUE(again.answer.has_value());
  EXPECT_EQ(again.answer->chosen, 1);
  EXPECT_THAT(again.answer->repeats, ::testing::ElementsAre("GEMM", "FFT", "GEMM"));
  EXPECT_EQ(again.answer->offers[0].refusal, "not supported");
  EXPECT_THAT(again.answer->offers[1].notes, ::testing::ElementsAre("TENSOR_CORE", "NONDETERMINISTIC"));
  EXPECT_EQ(again.answer->offers[1].seconds, 0.015);
  EXPECT_EQ(again.answer->compile_seconds, 0.29);
}

TEST(RecordJson, RecordsTheAnswersOfLibrariesAlone) {
  const std::vector<ResultRecord> records{complete_record(), measured("direct.cpu", 1)};
  const Json recorded = recorded_answers(records);
  ASSERT_EQ(recorded["answers"].size(), 1u);
  const Json& one = recorded["answers"][0];
  EXPECT_EQ(one["algorithm"], "winograd.f4x4_5x5.cpu");
  EXPECT_EQ(one["problem"], to_line(conv2()));
  EXPECT_EQ(one["workspace_cap_bytes"], 256 << 20);
  EXPECT_EQ(one["answer"]["offers"][1]["name"], "GEMM");
  EXPECT_FALSE(one.contains("time"));
}

TEST(RecordJson, ReadsRecordsFromBeforeLaterFields) {
  Json json = to_json(complete_record());
  json.erase("answer");
  json["key"].erase("knobs");
  json["key"].erase("device_index");
  json["device"].erase("index");
  json["ceilings"].erase("device_index");
  json["sampling"].erase("stage_limit_seconds");
  json["algorithm"].erase("emulated");
  json["algorithm"].erase("on_request");
  json["operations"].erase("cached_bytes");
  const ResultRecord record = record_from_json(json);
  EXPECT_FALSE(record.answer.has_value());
  EXPECT_EQ(record.key.knobs, 0);
  EXPECT_EQ(record.key.device_id(), DeviceId(DeviceKind::cpu, 0));
  EXPECT_EQ(record.device.index, 0);
  EXPECT_EQ(record.ceilings.device_index, 0);
  EXPECT_EQ(record.sampling.stage_limit_seconds, 0);
  EXPECT_TRUE(record.algorithm.emulated);
  EXPECT_FALSE(record.algorithm.on_request);
  EXPECT_EQ(record.operations.cached_bytes, 0);
}

TEST(RecordJson, RoundTripsARecordWithNothingInIt) {
  const Json json = to_json(ResultRecord{});
  const ResultRecord again = record_from_json(Json::parse(json.dump()));
  EXPECT_EQ(leaves(to_json(again)), leaves(json));
  EXPECT_FALSE(again.time.has_value());
  EXPECT_FALSE(again.key.workspace_cap.has_value());
  EXPECT_FALSE(again.accuracy.relative_l2.has_value());
  EXPECT_FALSE(again.accuracy.integers_exact.has_value());
}

TEST(RecordJson, RoundTripsEveryName) {
  ResultRecord record = complete_record();
  for (Outcome outcome : kOutcomes) {
    record.outcome = outcome;
    EXPECT_EQ(record_from_json(to_json(record)).outcome, outcome);
  }
  for (Reason reason : kReasons) {
    record.reason = reason;
    EXPECT_EQ(record_from_json(to_json(record)).reason, reason);
  }
  for (CacheState cache : kCacheStates) {
    record.key.cache = cache;
    EXPECT_EQ(record_from_json(to_json(record)).key.cache, cache);
  }
  for (DeviceKind kind : kDeviceKinds) {
    record.key.device = kind;
    EXPECT_EQ(record_from_json(to_json(record)).key.device, kind);
  }
}

TEST(RecordJson, WritesWhatIsNotANumberAsNull) {
  ResultRecord record = complete_record();
  record.accuracy.relative_l2 = std::numeric_limits<double>::quiet_NaN();
  record.accuracy.max_abs = std::numeric_limits<double>::infinity();
  record.time->full.samples = {0.5, -std::numeric_limits<double>::infinity()};
  record.time->full.statistics.mean = std::numeric_limits<double>::quiet_NaN();
  const Json json = to_json(record);
  EXPECT_TRUE(json["accuracy"]["relative_l2"].is_null());
  EXPECT_TRUE(json["accuracy"]["max_abs"].is_null());
  EXPECT_TRUE(json["time"]["full"]["samples_seconds"][1].is_null());
  EXPECT_TRUE(json["time"]["full"]["mean_seconds"].is_null());
  const ResultRecord again = record_from_json(json);
  EXPECT_FALSE(again.accuracy.relative_l2.has_value());
  EXPECT_TRUE(std::isnan(again.time->full.statistics.mean));
  EXPECT_TRUE(std::isnan(again.time->full.samples[1]));
}

TEST(RecordJson, RefusesWhatIsBelowZero) {
  EXPECT_EQ(error_of(changed("/time/full/median_seconds", -5)),
            "result record, at /time/full/median_seconds: expected a number from 0 or null, found -5");
  for (const char* place :
       {"/time/full/n", "/time/full/samples_seconds/1", "/time/full/at_seconds/0", "/time/full/speeds/2",
        "/time/repeat/ci_low_seconds", "/time/phase_seconds/layout", "/time/plan_seconds", "/workspace_bytes",
        "/operations/product_flops", "/health/signal_seconds", "/key/workspace_cap_bytes"})
    EXPECT_NE(error_of(changed(place, -1)), "") << place;
  EXPECT_EQ(error_of(changed("/time/full/median_seconds", 0)), "");
}

TEST(RecordJson, CarriesItsRankingForReadersOnly) {
  ResultRecord record = complete_record();
  EXPECT_FALSE(to_json(record).contains("ranking"));
  record.ranking.emplace().rank = 3;
  record.ranking->standing = Standing::throttled;
  const Json json = to_json(record);
  EXPECT_EQ(json["ranking"]["rank"], 3);
  EXPECT_EQ(json["ranking"]["standing"], "throttled");
  EXPECT_FALSE(record_from_json(json).ranking.has_value());
}

TEST(RecordJson, PartsRoundTripOnTheirOwn) {
  const ResultRecord record = complete_record();
  EXPECT_EQ(to_json(part_from_json<CaseKey>(to_json(record.key))), to_json(record.key));
  EXPECT_EQ(to_json(part_from_json<Ceilings>(to_json(record.ceilings))), to_json(record.ceilings));
  EXPECT_EQ(part_from_json<CaseKey>(to_json(record.key)).layer, "conv2");
  EXPECT_EQ(part_from_json<Ceilings>(to_json(record.ceilings)).fma_flops, 2e11);
}

TEST(RecordJson, CarriesTheLineThatRerunsIt) {
  EXPECT_EQ(
      to_json(measured("direct.cpu", 1))["rerun"],
      "convscope run --case \"forward fp32 nchw n=16 c=96 hw=27x27 k=256 rs=5x5 stride=1x1 pad=2x2 "
      "dilation=1x1 groups=1\" --algorithm direct.cpu --threads 2 --cache cold --workspace-cap 268435456 "
      "--seed 1 --confidence-width 0.005");
}

TEST(RecordJson, NamesThePlaceOfAForeignShape) {
  EXPECT_THAT(error_of(Json::array()), AllOf(HasSubstr("at its top"), HasSubstr("an object")));
  EXPECT_THAT(error_of(Json::object()), HasSubstr("/key: missing"));
  EXPECT_THAT(error_of(changed("/key/count", "two")),
              AllOf(HasSubstr("/key/count"), HasSubstr("a whole number"), HasSubstr("\"two\"")));
  EXPECT_THAT(error_of(changed("/key/count", 1.5)), HasSubstr("found 1.5"));
  EXPECT_THAT(error_of(changed("/key/seed", -1)), HasSubstr("/key/seed: expected a whole number from 0"));
  EXPECT_THAT(error_of(changed("/key/threads", 5000000000)), HasSubstr("/key/threads"));
  EXPECT_THAT(error_of(changed("/key/problem", "n=1")),
              AllOf(HasSubstr("/key/problem"), HasSubstr("\"c=\" is missing")));
  EXPECT_THAT(error_of(changed("/outcome", "great")), AllOf(HasSubstr("/outcome"), HasSubstr("measured")));
  EXPECT_THAT(error_of(changed("/outcome", nullptr)), HasSubstr("found nothing"));
  EXPECT_THAT(error_of(changed("/note", 3)), HasSubstr("/note: expected text"));
  EXPECT_THAT(error_of(changed("/health/throttled", 0)), HasSubstr("true or false"));
  EXPECT_THAT(error_of(changed("/time/full/samples_seconds/1", "x")),
              AllOf(HasSubstr("/time/full/samples_seconds/1"), HasSubstr("a number from 0 or null")));
  EXPECT_THAT(error_of(changed("/time/phase_seconds", Json::array())), HasSubstr("/time/phase_seconds"));
  EXPECT_THAT(error_of(changed("/time/phase_seconds", Json::object())),
              HasSubstr("/time/phase_seconds/prepare"));
}

TEST(RecordJson, QuotesNoPartOfACharacter) {
  for (std::string text : {"", "a"}) {
    for (int i = 0; i < 40; ++i) text += "\u00e9";
    const std::string error = error_of(changed("/workspace_bytes", text));
    EXPECT_THAT(error, HasSubstr("\u00e9..."));
    EXPECT_NO_THROW(Json(error).dump());
  }
}

TEST(RecordJson, RefusesNumbersOutOfRangeByTheFieldsName) {
  EXPECT_THAT(error_of(changed("/time/full/median_seconds", -0.001)),
              AllOf(HasSubstr("/time/full/median_seconds"), HasSubstr("from 0"), HasSubstr("-0.001")));
  EXPECT_THAT(error_of(changed("/time/full/samples_seconds/0", -1)),
              HasSubstr("/time/full/samples_seconds/0"));
  EXPECT_THAT(error_of(changed("/time/phase_seconds/layout", -1e-9)),
              HasSubstr("/time/phase_seconds/layout"));
  EXPECT_THAT(error_of(changed("/time/plan_seconds", "NaN")),
              AllOf(HasSubstr("/time/plan_seconds"), HasSubstr("\"NaN\"")));
  EXPECT_THAT(error_of(changed("/accuracy/relative_l2", -1)), HasSubstr("/accuracy/relative_l2"));
  EXPECT_THAT(error_of(changed("/accuracy/checked_outputs", -1)), HasSubstr("/accuracy/checked_outputs"));
  EXPECT_THAT(error_of(changed("/workspace_bytes", -4)),
              HasSubstr("/workspace_bytes: expected a whole number"));
  EXPECT_THAT(error_of(changed("/ceilings/fma_flops", true)), HasSubstr("/ceilings/fma_flops"));
  EXPECT_THAT(error_of(changed("/answer/chosen", 2)),
              AllOf(HasSubstr("/answer/chosen"), HasSubstr("below 2"), HasSubstr("found 2")));
  EXPECT_EQ(error_of(changed("/time/full/median_seconds", 0)), "");
}

TEST(RecordJson, DumpsBytesThatAreNotText) {
  ResultRecord record = complete_record();
  record.note = "broken \xff byte";
  const Json again = Json::parse(dump_json(to_json(record)));
  EXPECT_EQ(record_from_json(again).note, "broken \xEF\xBF\xBD byte");
}

}  // namespace
}  // namespace convscope

// results_format_markdown(), which columns.hpp declares.

#include <fmt/format.h>

#include <limits>

#include "bench/record/columns.hpp"
#include "bench/record/record_json.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kIntroduction = R"(# Results format

Made by `convscope list columns --markdown` from the program's own tables; a test fails when this file differs. Do
not edit it.

`convscope run --out DIR` leaves four files in `DIR`:

| file | what it is |
|---|---|
| `journal.jsonl` | One JSON object a line, written and fsynced: refusals at once, measured records once their group is measured and they are verified again. `run --resume DIR` goes on from it. |
| `results.json` | The whole run: settings, environment, ceilings, and every record with its raw samples. |
| `results.csv` | One row per record, without the raw samples. |
| `benchmark.json` | Google Benchmark's own report of the same samples, for its `compare.py`. |

The last three are replaced whole or not at all. Nothing is ever written as NaN or infinity: what is not known is
null in JSON and an empty field in CSV. Refused, failed and wrong candidates are records too; only records whose outcome
is `measured` may be called best.

)";

std::string column_table() {
  return "## Columns of results.csv\n\nFields are quoted as RFC 4180 says, lines end in a line feed, the "
         "first line holds the names.\n\n" +
         columns_markdown(columns()) + "\n";
}

// A record in which every optional part is there.
ResultRecord complete_record() {
  ResultRecord record;
  record.key.workspace_cap = 0;
  LibraryAnswer& answer = record.answer.emplace();
  answer.offers = {{"name", {"note"}, "", 0, 0.5}};
  answer.chosen = 0;
  answer.repeats = {"name"};
  answer.descriptor_seconds = answer.heuristic_seconds = answer.build_seconds = 0.5;
  answer.compile_seconds = 0.5;
  record.accuracy.relative_l2 = record.accuracy.max_abs = record.accuracy.max_relative = 0.5;
  record.accuracy.integers_exact = true;
  Measurement& time = record.time.emplace();
  time.full.samples = time.full.at_seconds = time.full.speeds = {0.5};
  time.inference = time.kernel = time.single = time.repeat = time.full;
  time.phase_seconds.fill(0.5);
  record.health.clock_mhz = record.health.core_share = record.health.core_to_core_latency_seconds =
      record.health.involuntary_switches = record.health.lost_share = 0.5;
  record.health.power_watts = record.health.temperature_celsius = 0.5;
  record.ranking.emplace();
  record.ranking->rank = 1;
  record.ranking->in_doubt = false;
  record.ranking->over_winner = record.ranking->speed_up = 0.5;
  return record;
}

std::string type_name(const Json& value) {
  if (value.is_string()) return "text";
  if (value.is_boolean()) return "true or false";
  return value.is_number_float() ? "number" : "whole number";
}

// A field may be null where a record with nothing in it, one with a time or an answer and nothing in that, or
// one with too few samples for an interval has it null.
bool may_be_null(const Json::json_pointer& place) {
  ResultRecord timed, few_samples;
  timed.time.emplace();
  timed.answer.emplace().offers.emplace_back();
  timed.ranking.emplace();
  Measurement& time = few_samples.time.emplace();
  time.full.statistics.ci_low = time.full.statistics.ci_high = std::numeric_limits<double>::quiet_NaN();
  time.inference = time.kernel = time.single = time.repeat = time.full;
  for (const Json& sample : {to_json(ResultRecord{}), to_json(timed), to_json(few_samples)})
    if (sample.contains(place) && sample[place].is_null()) return true;
  return false;
}

// One line a field; an object is shown by its fields, and itself only where it may be null.
void add_fields(std::string& text, const Json& object, const std::string& dotted,
                const Json::json_pointer& place) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = dotted + key;
    const Json::json_pointer here = place / key;
    const std::string or_null = may_be_null(here) ? " or null" : "";
    if (value.is_array() && value.at(0).is_object()) {
      text += fmt::format("| `{}` | list of objects |\n", name);
      add_fields(text, value.at(0), name + "[].", here / 0);
    } else if (value.is_array())
      text += fmt::format("| `{}` | list of {}s |\n", name, type_name(value.at(0)));
    else if (!value.is_object())
      text += fmt::format("| `{}` | {}{} |\n", name, type_name(value), or_null);
    else if (!or_null.empty())
      text += fmt::format("| `{}` | object{} |\n", name, or_null);
    if (value.is_object()) add_fields(text, value, name + ".", here);
  }
}

std::string json_section() {
  std::string text = fmt::format(R"(## results.json

An object: `schema_version` ({}; the program also reads 1, whose records have no `sampling`, and 2, whose machines have no class), `argv`, `config` (the suites as run, flags applied),
`environment` (program, libraries, system, device, state, times; `complete`: false where candidates are missing that a
resumed run would still do; `shard`: the `index` and `count` of `--shard`, where it was given; `resumed`: the
environments of later parts; of a merged folder `complete` and `merged_from` only), `ceilings` (measured, one entry per device and thread count) and
`records`. Times are seconds, sizes bytes, rates per second. A record, which is the same in `journal.jsonl`
but for `ranking`, which is known only when all are there:

| field | type |
|---|---|
)",
                                 kSchemaVersion);
  add_fields(text, to_json(complete_record()), "", Json::json_pointer());
  return text + R"(
`key.problem` is the problem line that `--case`, `explain` and `exec` read. A statistic that could not be computed is
null as well.
)";
}

}  // namespace

std::string results_format_markdown() {
  return std::string(kIntroduction) + column_table() + json_section();
}

}  // namespace convscope

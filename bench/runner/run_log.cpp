#include "bench/runner/run_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "bench/core/error.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/record/bound.hpp"
#include "bench/record/record_json.hpp"
#include "bench/runner/environment.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// A folder with results and no journal is a merged one, or another program's.
Journal begin_journal(const std::string& folder) {
  std::error_code unknown;  // what is wrong with the folder, making the journal will say
  const auto has = [&](const char* file) { return fs::exists(fs::path(folder) / file, unknown); };
  if (has("results.json") && !has("journal.jsonl"))
    throw UsageError(folder + " holds results already (results.json); choose another --out");
  return Journal::begin(folder);
}

Json run_entry(const RunPlan& plan) {
  Json tasks = Json::array();
  for (const GroupTask& task : plan.tasks) tasks.push_back(to_json(task));
  return {{"kind", "run"},         {"schema", kSchemaVersion},        {"argv", plan.argv},
          {"config", plan.config}, {"environment", plan.environment}, {"tasks", tasks}};
}

// Of an entry; empty where it has none.
std::string kind_of(const Json& entry) {
  const auto kind = entry.find("kind");
  return kind != entry.end() && kind->is_string() ? kind->get<std::string>() : "";
}

RunPlan plan_from(const std::vector<Json>& entries) {
  if (entries.empty() || kind_of(entries.front()) != "run")
    throw UsageError(
        "its first line is not a run's: nothing was begun in it (start again with --out), or it is another "
        "program's");
  const Json& run = entries.front();
  if (const Json schema = run.value("schema", Json()); schema != kSchemaVersion)
    throw UsageError("its schema is " + schema.dump() + "; this program continues schema " +
                     std::to_string(kSchemaVersion) + " only");
  for (const auto& [part, type] : {std::pair{"argv", Json::value_t::array},
                                   {"config", Json::value_t::array},
                                   {"environment", Json::value_t::object},
                                   {"tasks", Json::value_t::array}})
    if (run.value(part, Json()).type() != type)
      throw UsageError(std::string("its first line has ") + run.value(part, Json()).type_name() + " as " +
                       part + ": the file is damaged; copy it again, or begin anew with --out");
  for (const Json& word : run.at("argv"))
    if (!word.is_string()) throw UsageError("its first line has an argv that is no list of texts");
  RunPlan plan{run.at("argv").get<std::vector<std::string>>(), run.at("config"), run.at("environment"), {}};
  for (const Json& task : run.at("tasks")) plan.tasks.push_back(task_from_json(task));
  return plan;
}

}  // namespace

RunLog::RunLog(const std::string& folder, RunPlan plan)
    : folder_(folder), plan_(std::move(plan)), journal_(begin_journal(folder)) {
  journal_.append(run_entry(plan_));
}

RunLog::RunLog(const std::string& folder, const std::vector<Json>& entries) : folder_(folder) {
  std::string place = folder + "/journal.jsonl";
  try {
    plan_ = plan_from(entries);
    for (size_t i = 1; i < entries.size(); ++i) {
      place = fmt::format("{}/journal.jsonl:{}", folder, i + 1);
      take(entries[i]);
    }
  } catch (const UsageError& error) {
    throw UsageError(place + ": " + error.what());
  } catch (const Json::exception& error) {
    throw UsageError(place + ": " + fault_text(error));
  }
}

RunLog RunLog::open(const std::string& folder) {
  Journal journal = Journal::resume(folder);  // first, so that nobody appends to what is read
  RunLog log(folder, Journal::read(folder));
  log.journal_ = std::move(journal);
  return log;
}

void RunLog::take(const Json& entry) {
  const std::string kind = kind_of(entry);
  if (kind == "record") take(record_from_json(entry.at("record")));
  if (kind == "ceilings") take(part_from_json<Ceilings>(entry.at("ceilings")));
  if (kind == "resumed") resumptions_.push_back(entry.at("environment"));
  if (kind == "benchmark") {
    check_report(entry.at("report"));
    benchmarks_.push_back({entry.at("group").get<std::string>(), entry.at("report")});
  }
}

// Of several measurements of the same the best counts, for the records that are there already, too.
void RunLog::take(const Ceilings& ceilings) {
  const auto are_alike = [&](const Ceilings& other) {
    return other.device == ceilings.device && other.device_index == ceilings.device_index &&
           other.threads == ceilings.threads;
  };
  const auto known = std::find_if(ceilings_.begin(), ceilings_.end(), are_alike);
  if (known == ceilings_.end()) {
    ceilings_.push_back(ceilings);
    return;
  }
  *known = best_of(*known, ceilings);
  for (ResultRecord& record : records_)
    if (are_alike(record.ceilings)) record.ceilings = *known;
}

void RunLog::take(const ResultRecord& record) {
  // A journal that was put together by hand may have a candidate twice: the last record counts.
  const auto [found, is_new] = place_of_.try_emplace(candidate_key(record.key), records_.size());
  if (is_new)
    records_.push_back(record);
  else
    records_[found->second] = record;
}

void RunLog::add(const Ceilings& ceilings) {
  journal_.append({{"kind", "ceilings"}, {"ceilings", to_json(ceilings)}});
  take(ceilings);
}

void RunLog::add(const ResultRecord& record) {
  journal_.append({{"kind", "record"}, {"record", to_json(record)}});
  take(record);
}

void RunLog::add(const BenchmarkReport& report) {
  journal_.append({{"kind", "benchmark"}, {"group", report.group}, {"report", report.report}});
  benchmarks_.push_back(report);
}

void RunLog::add_resumption(const Json& environment) {
  journal_.append({{"kind", "resumed"}, {"environment", environment}});
  resumptions_.push_back(environment);
}

std::vector<GroupTask> RunLog::tasks_left() const {
  std::vector<GroupTask> left;
  for (GroupTask task : plan_.tasks) {
    std::erase_if(task.group.algorithms, [&](const std::string& algorithm) {
      return place_of_.contains(candidate_key(candidate_of(task.group, algorithm)));
    });
    if (!task.group.algorithms.empty()) left.push_back(std::move(task));
  }
  return left;
}

std::vector<ResultRecord> RunLog::records_of(const Group& group) const {
  std::vector<ResultRecord> found;
  for (const std::string& algorithm : group.algorithms) {
    const auto place = place_of_.find(candidate_key(candidate_of(group, algorithm)));
    if (place != place_of_.end()) found.push_back(records_[place->second]);
  }
  return found;
}

ResultFile RunLog::results() const {
  ResultFile file{plan_.argv, plan_.config, plan_.environment, ceilings_, {}};
  if (!resumptions_.empty()) file.environment["resumed"] = resumptions_;
  file.environment["ended"] = utc_now();
  file.environment["complete"] = tasks_left().empty();
  for (const GroupTask& task : plan_.tasks)
    for (ResultRecord& record : records_of(task.group)) file.records.push_back(std::move(record));
  rank_records(file.records);
  return file;
}

void RunLog::write_files() const try {
  write_results(folder_, results(), dump_json(join_benchmarks(benchmarks_), 1) + "\n");
} catch (const std::runtime_error& error) {
  throw std::runtime_error(std::string(error.what()) + "; the journal has everything: --resume " + folder_ +
                           " writes the files");
}

void check_report(const Json& report) {
  const auto part = [&](const char* name) {
    return report.is_object() ? report.value(name, Json()) : Json();
  };
  const Json benchmarks = part("benchmarks");
  if (!part("context").is_object() || !benchmarks.is_array())
    throw UsageError("this is not a report of Google Benchmark");
  for (const Json& entry : benchmarks)
    if (!entry.is_object() || !entry.value("name", Json("")).is_string())
      throw UsageError("this report of Google Benchmark has a benchmark that is no object with a name");
}

Json join_benchmarks(const std::vector<BenchmarkReport>& reports) {
  std::map<std::pair<std::string, std::string>, const Json*> last;  // (group, name) -> its last report
  const auto name_in = [](const BenchmarkReport& report, const Json& entry) {
    return std::pair{report.group, entry.value("name", "")};
  };
  for (const BenchmarkReport& report : reports)
    for (const Json& entry : report.report.at("benchmarks")) last[name_in(report, entry)] = &report.report;

  Json joined = {{"context", Json::object()}, {"benchmarks", Json::array()}};
  if (!reports.empty()) joined["context"] = reports.front().report.at("context");
  for (const BenchmarkReport& report : reports)
    for (const Json& entry : report.report.at("benchmarks"))
      if (last[name_in(report, entry)] == &report.report) joined["benchmarks"].push_back(entry);
  return joined;
}

}  // namespace convscope

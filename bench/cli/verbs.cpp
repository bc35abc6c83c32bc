#include "bench/cli/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

constexpr std::string_view kExitCodes =
    "Exit codes: 0 all good; 1 a row is wrong, or a candidate crashed, hung or failed; 2 bad usage or "
    "config;\n"
    "3 a device was lost, the rest of its rows is left to --resume; 130 interrupted.";

// Lists are given with commas, repeated flags, or both.
void add_overrides(CLI::App& verb, Overrides& overrides, const std::vector<std::string_view>& left_out) {
  for (const OverrideFlag& flag : override_flags()) {
    if (std::find(left_out.begin(), left_out.end(), flag.flag) != left_out.end()) continue;
    const std::string name(flag.flag), meaning(flag.meaning);
    if (flag.value.empty()) {
      verb.add_flag_callback(
          name, [&overrides, &flag] { flag.set(overrides, ""); }, meaning);
      continue;
    }
    const auto set = [&overrides, &flag](const std::vector<std::string>& texts) {
      flag.set(overrides, fmt::format("{}", fmt::join(texts, ",")));
    };
    verb.add_option_function<std::vector<std::string>>(name, set, meaning)
        ->allow_extra_args(false)
        ->type_name(std::string(flag.value));
  }
}

bool parse_switch(const std::string& flag, const std::string& text) {
  if (text != "on" && text != "off") throw UsageError(flag + ": found \"" + text + "\"; allowed is on, off");
  return text == "on";
}

void add_where(CLI::App& verb, RunOptions& options) {
  verb.add_option("--out", options.out, "Folder for the results; out/<date-time> when left out.")
      ->type_name("DIR");
  verb.add_option(
          "--resume", options.resume,
          "Finish the interrupted run in this folder; what to do is taken from its journal, so no CONFIG "
          "and no other flag but --isolate goes with it.")
      ->type_name("DIR");
  verb.add_option_function<std::string>(
          "--shard", [&options](const std::string& text) { options.shard = parse_shard(text); },
          "Run only the I-th of N parts of the sweep; `convscope merge` joins the parts.")
      ->type_name("I/N");
  verb.add_flag("--dry-run", options.dry_run,
                "Print what would be run and an estimate of the time; run nothing.");
  verb.add_option_function<std::string>(
          "--isolate",
          [&options](const std::string& text) { options.isolate = parse_switch("--isolate", text); },
          "on (default): each group of candidates runs in a child process, so that a crash or a hang costs "
          "one "
          "row; off: in this process, as a debugger wants it, and without time limits.")
      ->type_name("on|off");
}

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App* run =
      app.add_subcommand("run", "Verify and time every algorithm on every layer and pass of a config.");
  run->add_option("CONFIG", options.configs, "JSON config files (docs/configs.md)")->type_name("FILE");
  run->add_option("--case", options.problem,
                  "One problem, as rows of a result file have it, instead of a CONFIG; needs --algorithm.")
      ->type_name("LINE");
  add_overrides(*run, options.overrides, {});
  add_where(*run, options);
  run->add_option_function<std::string>(
         "--blocker",
         [&options](const std::string& text) { options.blocker = parse_switch("--blocker", text); },
         "on (default): on a GPU, all work of a sample is enqueued before any of it runs, so that the host's "
         "gaps are not timed; off: for profilers that run launches one by one.")
      ->type_name("on|off");
  run->add_option("--knobs", options.knobs,
                  "For each engine of cuDNN, try up to N combinations of its knobs besides the defaults, and "
                  "measure the fastest (0).")
      ->type_name("N")
      ->check(CLI::Range(0, 10000));
  run->add_option("--record", options.record,
                  "Write what libraries said when they were asked to choose to this JSON file too.")
      ->type_name("FILE");
  run->add_flag("--aa", options.repeat, "Measure every candidate twice and print the noise floor.");
  run->footer(fmt::format(
      "Flags override the config. Lists take commas, repeated flags, or both. Ctrl-C ends the run with its "
      "files\n"
      "written; --resume goes on from there.\n"
      "{}\n\n"
      "Examples:\n"
      "  convscope run configs/alexnet.json --pass forward --batch 1,16\n"
      "  convscope run configs/alexnet.json --algorithm 'winograd.*,onednn.*' --out out/winograd\n"
      "  convscope run --resume out/winograd\n"
      "  convscope run --case \"forward fp32 nchw n=16 c=96 hw=27x27 k=256 rs=5x5 stride=1x1 pad=2x2\" "
      "--algorithm direct.cpu",
      kExitCodes));
}

void add_verify(CLI::App& app, RunOptions& options) {
  options.measure = false;
  CLI::App* verify =
      app.add_subcommand("verify", "Check every algorithm's results on every layer and pass; time nothing.");
  verify->add_option("CONFIG", options.configs, "JSON config files (docs/configs.md)")->type_name("FILE");
  add_overrides(*verify, options.overrides,
                {"--cache", "--min-samples", "--max-samples", "--confidence-width"});
  add_where(*verify, options);
  verify->footer(
      fmt::format("{}\n\nExample:\n  convscope verify configs/alexnet.json --batch 1", kExitCodes));
}

void add_merge(CLI::App& app, MergeOptions& options) {
  CLI::App* merge =
      app.add_subcommand("merge", "Join the result folders of several runs, such as shards, into one.");
  merge->add_option("DIR", options.folders, "Result folders")->type_name("DIR")->required();
  merge->add_option("--out", options.out, "Folder for the joined results")->type_name("DIR")->required();
  merge->footer(
      "Rows of different devices stay apart by device_name. A candidate that two folders have must have the "
      "same\n"
      "row in both. Exit codes: 0 joined; 2 bad usage or folders that contradict each other.\n\n"
      "Example:\n  convscope merge out/part1 out/part2 --out out/all");
}

void add_results(CLI::App& verb, std::vector<std::string>& results) {
  verb.add_option("RESULTS", results,
                  "Result folders, their results.json, or kept runs (results/*/*.json.xz)")
      ->type_name("PATH")
      ->required();
}

void add_csv(CLI::App& app, CsvOptions& options) {
  CLI::App* csv = app.add_subcommand("csv", "Print the rows of results as results.csv has them.");
  add_results(*csv, options.results);
  csv->footer(
      "Runs nothing. docs/results_format.md explains every column.\n\n"
      "Examples:\n"
      "  convscope csv out/alexnet\n"
      "  convscope csv results/amd-epyc-zen4-2-cores/alexnet.json.xz > alexnet.csv");
}

void add_select(CLI::App& app, SelectOptions& options) {
  CLI::App* select = app.add_subcommand(
      "select",
      "What a library's own choice of algorithm costs against the best, and how much workspace is enough.");
  add_results(*select, options.results);
  select
      ->add_option("--chooser", options.choosers,
                   "Ids of the rows that are a library's own choice, with or without their device; when left "
                   "out cudnn.get, cudnn.find, cudnn.heur_a, cudnn.heur_b, cudnn.heur_fallback, "
                   "cudnn.autotune and onednn.auto.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ID,...");
  select->add_flag("--json", options.json, "Print one JSON document and nothing else.");
  select->footer(
      "Runs nothing. Several RESULTS are repeats of each other: a candidate's middle time counts, and the "
      "table "
      "says\nhow often a choice was the same. docs/selection.md explains every figure.\n\n"
      "Examples:\n"
      "  convscope select out/alexnet\n"
      "  convscope run configs/alexnet.json --workspace-cap 0,8MiB,32MiB,64MiB,128MiB,256MiB,inf --out "
      "out/caps\n"
      "  convscope select out/caps --json");
}

void add_policies(CLI::App& app, PoliciesOptions& options) {
  CLI::App* policies = app.add_subcommand(
      "policies", "A network's convolution time under the choices of several frameworks: policy emulation.");
  add_results(*policies, options.results);
  policies
      ->add_option("--policy", options.policies,
                   "Policy files, or folders of them (docs/policies.md); configs/policies when left out.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PATH,...");
  policies->add_flag("--json", options.json, "Print one JSON document and nothing else.");
  policies->footer(
      "Runs nothing, and no framework: it adds up the rows that each policy would take.\n\n"
      "Examples:\n"
      "  convscope policies out/alexnet\n"
      "  convscope policies out/alexnet --policy configs/policies/cpu_onednn.json,my_policy.json");
}

void add_choose(CLI::App& app, ChooseOptions& options) {
  CLI::App* choose = app.add_subcommand(
      "choose", "Predict the fastest algorithm of each layer and pass from the measured ceilings alone.");
  choose->add_option("CONFIG", options.config, "A JSON config file (docs/configs.md)")->type_name("FILE");
  choose
      ->add_option("--results", options.results,
                   "Result folders, their results.json, or kept runs, instead of a CONFIG: predict from "
                   "their ceilings, "
                   "and say what each choice cost.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PATH,...");
  add_overrides(*choose, options.overrides,
                {"--cache", "--time-limit", "--stage-limit", "--min-samples", "--max-samples",
                 "--confidence-width", "--seed"});
  choose->add_flag("--json", options.json, "Print one JSON document and nothing else.");
  choose->footer(
      "Runs no convolution; with a CONFIG it measures the ceilings first, for about a second a thread "
      "count.\nTimes are the least that the ceilings allow: they say who is faster, not how long it takes "
      "(docs/selection.md).\n\n"
      "Examples:\n"
      "  convscope choose configs/alexnet.json --batch 16\n"
      "  convscope choose --results out/alexnet");
}

// Reads a size such as 256MiB into a field that one flag sets.
void add_workspace_cap(CLI::App& verb, std::optional<int64_t>& cap) {
  verb.add_option_function<std::string>(
          "--workspace-cap",
          [&cap](const std::string& text) {
            const auto limit = parse_byte_limit(text);
            if (!limit)
              throw UsageError(
                  fmt::format("--workspace-cap: found \"{}\"; allowed is {}", text, kByteLimitForms));
            cap = limit->bytes;
          },
          "Workspace that an algorithm may use; inf is no cap. 256MiB when left out.")
      ->type_name("SIZE");
}

void add_threads(CLI::App& verb, int& threads) {
  verb.add_option("--threads", threads, "Threads on the CPU; 0 is every core, as when left out.")
      ->type_name("N")
      ->check(CLI::Range(0, static_cast<int>(kLargestThreads)));
}

void add_device(CLI::App& verb, std::optional<DeviceId>& device, const std::string& meaning) {
  verb.add_option_function<std::string>(
          "--device", [&device](const std::string& text) { device = parse_device("--device", text); },
          meaning)
      ->type_name("NAME");
}

void add_list(CLI::App& app, ListOptions& options) {
  CLI::App* list = app.add_subcommand(
      "list", "List the algorithms, the devices, a config's layers or the result columns.");
  list->add_option("WHAT", options.what, "algorithms, devices, layers or columns")
      ->type_name("WHAT")
      ->required();
  list->add_option("CONFIG", options.config, "The config whose layers are listed")->type_name("FILE");
  list->add_flag("--json", options.json, "Print one JSON document and nothing else.");
  list->add_flag("--markdown", options.markdown, "Of columns: print docs/results_format.md.");
  list->footer("Examples:\n  convscope list algorithms\n  convscope list layers configs/alexnet.json --json");
}

void add_info(CLI::App& app, InfoOptions& options) {
  CLI::App* info =
      app.add_subcommand("info", "Show hardware, caches, library versions and the measured ceilings.");
  info->add_flag("--json", options.json, "Print one JSON document and nothing else.");
  info->footer(
      "Measures the ceilings first, for about a second a thread count.\n\nExample:\n  convscope info "
      "--json");
}

void add_explain(CLI::App& app, ExplainOptions& options) {
  CLI::App* explain = app.add_subcommand(
      "explain",
      "For each algorithm: supported or why not, operations, bytes, workspace, and the bound that binds.");
  explain->add_option("PROBLEM", options.problem, "A problem line or a benchdnn descriptor")
      ->type_name("LINE")
      ->required();
  add_device(
      *explain, options.device,
      "The device to ask about: cpu, cuda, cuda:1, emulator. When left out, the CPU, and the GPU or, without "
      "one, the emulator.");
  add_threads(*explain, options.threads);
  explain
      ->add_option_function<std::string>(
          "--cache",
          [&options](const std::string& text) {
            const auto cache = cache_state_from_name(text);
            if (!cache)
              throw UsageError("--cache: found \"" + text + "\"; allowed is " +
                               comma_list(all_names(kCacheStates)));
            options.cache = *cache;
          },
          "Where the tensors are taken to be: cold, hot, weights-cold. cold when left out.")
      ->type_name("NAME");
  add_workspace_cap(*explain, options.workspace_cap);
  explain->add_flag("--json", options.json, "Print one JSON document and nothing else.");
  explain->footer(
      "Runs no algorithm; measures the ceilings first, which takes about a second.\n\n"
      "Example:\n  convscope explain \"forward fp32 nchw n=16 c=96 hw=27x27 k=256 rs=5x5 pad=2x2\"");
}

void add_exec(CLI::App& app, ExecOptions& options) {
  CLI::App* exec =
      app.add_subcommand("exec", "Run one algorithm on your own tensors, NumPy .npy in and out.");
  exec->add_option("--case", options.problem, "A problem line or a benchdnn descriptor")
      ->type_name("LINE")
      ->required();
  exec->add_option("--algorithm", options.algorithm, "The algorithm's id")->type_name("ID")->required();
  exec->add_option("--input", options.input, "The input, or its gradient")->type_name("FILE")->required();
  exec->add_option("--filter", options.filter, "The filter, or its gradient")->type_name("FILE")->required();
  exec->add_option("--output", options.output, "The output, or its gradient")->type_name("FILE")->required();
  add_device(*exec, options.device,
             "The device to run on: cpu, cuda, cuda:1, emulator. The algorithm's own when left out.");
  add_threads(*exec, options.threads);
  add_workspace_cap(*exec, options.workspace_cap);
  exec->footer(
      "forward writes --output, backward_data --input, backward_filter --filter; the other two files are "
      "read, as\n"
      "float32 in the problem's layout: (n, c, h, w) and (k, c, r, s) for nchw, (n, h, w, c) and (k, r, s, "
      "c) for nhwc,\n(c, h, w, n) and (c, r, s, k) for chwn.\n"
      "Exit codes: 0 written; 1 the algorithm refuses the problem or fails; 2 bad usage or files that do not "
      "fit.\n\n"
      "Example:\n  convscope exec --case \"forward n=1 c=3 hw=8x8 k=4 rs=3x3\" --algorithm direct.cpu "
      "--input x.npy --filter w.npy --output y.npy");
}

void add_worker(CLI::App& app, WorkerOptions& options) {
  CLI::App* worker = app.add_subcommand("worker", "");
  worker->group("");  // hidden
  worker->add_option("PARENT", options.parent)->required();
}

}  // namespace

void add_verbs(CLI::App& app, VerbOptions& options) {
  add_run(app, options.run);
  add_verify(app, options.verify);
  add_list(app, options.list);
  add_info(app, options.info);
  add_explain(app, options.explain);
  add_exec(app, options.exec);
  add_merge(app, options.merge);
  add_csv(app, options.csv);
  add_select(app, options.select);
  add_policies(app, options.policies);
  add_choose(app, options.choose);
  add_worker(app, options.worker);
}

Command VerbOptions::of(std::string_view verb) const {
  if (verb == "run") return run;
  if (verb == "verify") return verify;
  if (verb == "list") return list;
  if (verb == "info") return info;
  if (verb == "explain") return explain;
  if (verb == "exec") return exec;
  if (verb == "merge") return merge;
  if (verb == "csv") return csv;
  if (verb == "select") return select;
  if (verb == "policies") return policies;
  if (verb == "choose") return choose;
  return worker;
}

}  // namespace convscope

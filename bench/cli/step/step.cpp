// The verb `step`: its flags and help, and which of its three bases a command line asks for.
#include "bench/cli/step/step.hpp"

#include <fmt/format.h>

#include "bench/core/error.hpp"
#include "bench/parallel/network/simulated_network.hpp"

namespace convscope {
namespace {

CLI::Option* add_list(CLI::App& verb, const std::string& flag, std::vector<std::string>& target,
                      const std::string& meaning, const std::string& type) {
  return verb.add_option(flag, target, meaning)->delimiter(',')->allow_extra_args(false)->type_name(type);
}

void add_measured_flags(CLI::App& verb, StepOptions& options) {
  add_list(verb, "--algorithm", options.algorithms,
           "Measured: the algorithms that are tuned, as run's --algorithm; all when left out.",
           "PATTERN,...");
  add_device(
      verb, options.device,
      "Measured: where it runs: cpu (when left out), cuda or, of several GPUs, cuda:1. With mpirun cuda is "
      "a GPU for each process.");
  add_threads(verb, options.threads);
  add_workspace_cap(verb, options.workspace_cap);
  verb.add_option(
          "--time-limit", options.seconds,
          "Measured: seconds for tuning and comparing, replayed: for all rows, the fewest rounds apart; 90 "
          "when left out.")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  verb.add_option(
          "--under-load", options.load,
          "Measured: candidates are also timed beside threads that read and write memory at this rate, as in "
          "5GB/s or, on two threads, 5GB/s:2. Their cores must be free: take fewer --threads. On a GPU "
          "multiprocessors do, one or as many as are named.")
      ->type_name("RATE[:COUNT]");
  verb.add_flag(
      "--fuse", options.fuse,
      "Measured: bias and ReLU right after a convolution are applied by it, where its algorithm can; on one "
      "process beside a step in which they are a pass of their own.");
}

void add_modelled_flags(CLI::App& verb, StepOptions& options) {
  verb.add_flag("--per-gpu", options.per_gpu, "--batch is of each GPU instead: weak scaling.");
  add_parallel_flags(verb, options.parallel);
  verb.add_option("--fabric", options.parallel.fabric,
                  "Of a modelled step: simgrid, where messages are simulated; the closed form when left out.")
      ->check(CLI::IsMember({std::string(kSimGrid)}))
      ->type_name("FABRIC");
  add_list(verb, "--overlap", options.overlap,
           "What communication hides behind: none, layer, bucket:SIZE. When left out none of a step that is "
           "run on ranks, else all three, with 25MiB.",
           "NAME,...");
  add_list(verb, "--compress", options.compress, "Gradients as they are sent: none (when left out), 1bit.",
           "NAME,...");
  verb.add_option(
          "--codec", options.codec,
          "FP32 bytes a second that the 1-bit codec takes in, coding and decoding together, as in 10GB/s; it "
          "takes no time when left out.")
      ->type_name("RATE");
}

void add_flags(CLI::App& verb, StepOptions& options) {
  verb.add_option("CONFIG", options.config, "A JSON config file, or the name of one (docs/configs.md)")
      ->type_name("FILE")
      ->required();
  verb.add_option("--basis", options.basis,
                  "measured: the step runs here, on one process or on those that mpirun started. "
                  "modelled: compute from --rows, communication from --link or --platform. replayed: compute "
                  "from --rows is slept, communication runs on the processes of mpirun. When left out: "
                  "modelled where one of them is given.")
      ->check(CLI::IsMember(all_names(kBases)))
      ->type_name("BASIS");
  add_list(verb, "--rows", options.rows,
           "Result folders, their results.json, or kept runs: the times of the layers, measured at the batch "
           "of one GPU.",
           "PATH,...");
  add_list(verb, "--operations", options.operations,
           "Of a modelled or replayed step: folders that `convscope operations` wrote, or their "
           "operations.json: the times of what stands between the convolutions, at the same batches. They "
           "count as nothing when left out.",
           "PATH,...");
  add_list(verb, "--batch", options.batch,
           "Images: of all GPUs together; of a measured step one number, the config's when left out.",
           "N,...");
  verb.add_option("--choose", options.choose,
                  "best: of each layer and pass the winner in --rows. Algorithms: the first that can run it. "
                  "Measured also: a policy, what it takes of --rows; tuned (when left out), the fastest "
                  "inside the step; model, our cost "
                  "model's.")
      ->type_name("HOW");
  add_measured_flags(verb, options);
  add_modelled_flags(verb, options);
  verb.add_option("--trace", options.trace,
                  "A file for the schedule, on processes what the first rank did, for chrome://tracing or "
                  "ui.perfetto.dev; not of several GPUs.")
      ->type_name("FILE");
  add_json(verb, options.json);
  verb.footer(
      "A measured step runs forward, backward and update on real tensors and compares its convolutions with\n"
      "the same run alone. A modelled or replayed one runs no convolution; a batch of which --rows have "
      "no\n"
      "records is refused with the command that measures it. What the tables may and may not be used for is "
      "in docs/step.md.\n"
      "Exit codes: 0 there are steps; 1 all were refused, or one is wrong; 2 bad usage; 3 the device\n"
      "failed; 130 stopped by Ctrl-C, its complete rounds written. On ranks the rows in --out are\n"
      "brought up to date every two seconds.\n\n"
      "Examples:\n"
      "  convscope step alexnet --out out/step\n"
      "  convscope step alexnet --device cuda\n"
      "  mpirun -np 2 convscope step alexnet --reduce ring,halving --compress none,1bit\n"
      "  mpirun -np 2 convscope step alexnet_full --rows out/batch-64,out/batch-128 --batch 128 --basis "
      "replayed\n"
      "  convscope step alexnet_full --rows out/batch-64,out/batch-128 --batch 128 --gpus 1,2 \\\n"
      "    --link 5GB/s,5us --compress none,1bit --trace step.json");
}

void check(const CLI::App& verb, const StepOptions& options) {
  switch (basis_of(options)) {
    case Basis::measured:
      return check_measured(verb, options);
    case Basis::replayed:
      return check_replayed(verb, options);
    case Basis::modelled:
      return check_modelled(verb, options);
  }
}

int act(const StepOptions& options, const Program& program) {
  switch (basis_of(options)) {
    case Basis::measured:
      return measure_step_here(options, program);
    case Basis::replayed:
      return replay_steps_on_ranks(options, program);
    case Basis::modelled:
      return model_steps(options, program);
  }
  return 0;
}

}  // namespace

void refuse_flags_of(std::string_view whose, std::initializer_list<std::string_view> flags,
                     const CLI::App& verb) {
  for (const std::string& given : given_flags(verb))
    for (std::string_view flag : flags)
      if (given == flag) throw UsageError(fmt::format("{}: only a {} has it", given, whose));
}

Verb step_verb() {
  return make_verb<StepOptions>(
      "step", "Run a training step here, or model one on n GPUs from measured layers and a stated link.",
      add_flags, act, check);
}

}  // namespace convscope

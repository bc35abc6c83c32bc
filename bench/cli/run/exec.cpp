#include "bench/cli/run/exec.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <ostream>
#include <set>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "bench/cli/run/npy.hpp"
#include "bench/core/error.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/values.hpp"
#include "bench/ranking/contest.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/algorithm_patterns.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {
namespace {

// The axes of a file, outermost first, as indices into the logical (n, c, h, w) or (k, c, r, s).
std::array<size_t, 4> axes(Layout layout) {
  switch (layout) {
    case Layout::nchw:
      return {0, 1, 2, 3};
    case Layout::nhwc:
      return {0, 2, 3, 1};
    case Layout::chwn:
      return {1, 2, 3, 0};
  }
  return {};
}

std::vector<int64_t> file_shape(const ConvProblem& problem, Role role) {
  const TensorShape shape = problem.shape(role);
  std::vector<int64_t> sizes;
  for (size_t axis : axes(problem.layout)) sizes.push_back(shape.size[axis]);
  return sizes;
}

const std::string& path_of(const ExecOptions& options, Role role) {
  return role == Role::input ? options.input : role == Role::filter ? options.filter : options.output;
}

void check_paths(const ExecOptions& options, const ConvProblem& problem) {
  const Pass pass = problem.pass;
  if (has_bias(problem.epilogue) && options.bias.empty())
    throw UsageError(
        fmt::format("exec: --bias is missing; the epilogue {} reads it", name(problem.epilogue)));
  if (!has_bias(problem.epilogue) && !options.bias.empty())
    throw UsageError(fmt::format("exec: --bias is given, and the epilogue {} has none; leave it out",
                                 name(problem.epilogue)));
  for (Role role : kRoles)
    if (path_of(options, role).empty())
      throw UsageError(fmt::format(
          "exec: --{} is missing; it needs three files, and {} writes --{} and reads the other two",
          name(role), name(pass), name(written_role(pass))));
  const std::string& written = path_of(options, written_role(pass));
  const auto check_read = [&](const std::string& path, std::string_view flag) {
    std::error_code unknown;
    if (path == written || std::filesystem::equivalent(path, written, unknown))
      throw UsageError(fmt::format("exec: --{} would overwrite {}, which --{} reads; name another file",
                                   name(written_role(pass)), written, flag));
  };
  for (Role role : kRoles)
    if (role != written_role(pass)) check_read(path_of(options, role), name(role));
  if (!options.bias.empty()) check_read(options.bias, "bias");
}

Buffer bias_of(const ConvProblem& problem, const std::string& path, Device& device) {
  if (path.empty()) return {};
  const NpyArray array = read_npy(path);
  if (array.shape != std::vector<int64_t>{problem.out_channels})
    throw UsageError(fmt::format("{}: its shape is {}; the bias of this problem is {}", path,
                                 shape_text(array.shape), shape_text({problem.out_channels})));
  Buffer buffer(device, array.values.size() * sizeof(float));
  upload_values(buffer, DataType::f32, array.values);
  return buffer;
}

// The tensor's buffer: the file's values, or NaN where the pass writes it.
Buffer tensor(const ConvProblem& problem, Role role, const std::string& path, Device& device) {
  Buffer buffer(device, static_cast<size_t>(problem.bytes(role)));
  if (role == written_role(problem.pass)) {
    buffer.fill_with_nan();
    return buffer;
  }
  const NpyArray array = read_npy(path);
  const std::vector<int64_t> expected = file_shape(problem, role);
  if (array.shape != expected)
    throw UsageError(fmt::format("{}: its shape is {}; the {} of this problem in {} is {}", path,
                                 shape_text(array.shape), name(role), name(problem.layout),
                                 shape_text(expected)));
  upload_values(buffer, storage_type(problem.math), array.values);
  return buffer;
}

// Plans, runs and writes the result. Throws Refused and others where it must not run or is at fault.
void run_plan(const Algorithm& algorithm, const ExecOptions& options, const ConvProblem& problem,
              Device& device, int threads) {
  Buffer tensors[] = {tensor(problem, Role::input, options.input, device),
                      tensor(problem, Role::filter, options.filter, device),
                      tensor(problem, Role::output, options.output, device)};
  const Buffer bias = bias_of(problem, options.bias, device);
  const int64_t cap = options.workspace_cap.value_or(INT64_MAX);
  const auto plan = plan_within_cap(algorithm, problem, device, {cap, threads});
  const Buffer workspace(device, static_cast<size_t>(plan->workspace_bytes()));
  const ConvArgs args{tensors[0].data(), tensors[1].data(), tensors[2].data(), workspace.data(),
                      static_cast<const float*>(bias.data())};
  const auto queue = device.make_queue();
  if (plan->has_prepare()) plan->prepare(args, *queue);
  plan->run(args, *queue);
  queue->synchronize();
  if (!workspace.guards_intact()) throw std::runtime_error("it wrote outside its workspace");
  for (const Buffer& buffer : tensors)
    if (!buffer.guards_intact()) throw std::runtime_error("it wrote outside the tensors");

  const Role written = written_role(problem.pass);
  const Buffer& result = tensors[static_cast<size_t>(written)];
  NpyArray array{file_shape(problem, written),
                 std::vector<float>(static_cast<size_t>(problem.elements(written)))};
  download_values(result, storage_type(problem.math), array.values);
  write_npy(path_of(options, written), array);
}

// Throws UsageError where there is none of this id: with the nearest name there is, and for a family or the
// beginning of ids with those.
const Algorithm& find_algorithm(const Registry& registry, const std::string& id) {
  if (const Algorithm* found = registry.find(id)) return *found;
  if (!defect_of_pattern(id, registry).empty()) {
    std::set<std::string> names;
    for (const Algorithm* algorithm : registry.all())
      names.insert({algorithm->info().id, std::string(stem(algorithm->info().id)), algorithm->info().family});
    throw UsageError(
        fmt::format("--algorithm: unknown algorithm \"{}\" (`convscope list algorithms` shows all){}", id,
                    did_you_mean(id, {names.begin(), names.end()})));
  }
  constexpr size_t kNamed = 12;
  std::vector<std::string> ids;
  for (DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda})
    for (std::string& meant : meant_by({id}, registry, kind)) ids.push_back(std::move(meant));
  const size_t unnamed = ids.size() - std::min(kNamed, ids.size());
  ids.resize(ids.size() - unnamed);
  throw UsageError(fmt::format(
      "--algorithm: found \"{}\"; exec runs one algorithm, by its id: {}{}", id, comma_list(ids),
      unnamed == 0 ? "" : fmt::format(" and {} more (`convscope list algorithms '{}'`)", unnamed, id)));
}

// The verb, on the algorithm's own kind of device or the one asked for. Throws UsageError also where there is
// no such device or it does not run the algorithm.
int exec(const ExecOptions& options, const Program& program) {
  const AlgorithmInfo& algorithm = find_algorithm(program.registry, options.algorithm).info();
  const DeviceId id = options.device.value_or(algorithm.device);
  if (!runs_on(algorithm, id.kind))
    throw UsageError(fmt::format("--device: found {}, which does not run {}", name(id), algorithm.id));
  const int threads = threads_on(describe_device(id), options.threads);
  const auto device = make_device(id, {.threads = threads});
  return exec_algorithm(options, program.registry, *device, threads, program.errors);
}

}  // namespace

int exec_algorithm(const ExecOptions& options, const Registry& registry, Device& device, int threads,
                   std::ostream& errors) {
  const ConvProblem problem = parse_problem(options.problem);
  const Algorithm& algorithm = find_algorithm(registry, options.algorithm);
  check_paths(options, problem);
  const auto refuse = [&](std::string_view code, std::string_view why) {
    fmt::print(errors, "convscope: {}: {}: {}\n", options.algorithm, code, one_line(why));
    return 1;
  };
  if (const Support support = algorithm.supports(problem, device.info()); !support)
    return refuse(name(support.reason()), support.why());
  try {
    run_plan(algorithm, options, problem, device, threads);
    return 0;
  } catch (const UsageError&) {
    throw;
  } catch (const Refused& refusal) {
    return refuse(name(refusal.reason()), refusal.what());
  } catch (const std::bad_alloc&) {
    return refuse(name(Reason::out_of_memory), "there is not enough memory for its tensors and workspace");
  } catch (const std::exception& error) {
    return refuse(name(Reason::failed), error.what());
  }
}

void add_flags(CLI::App& verb, ExecOptions& options) {
  verb.add_option("--case", options.problem, "A problem line or a benchdnn descriptor")
      ->type_name("LINE")
      ->required();
  verb.add_option("--algorithm", options.algorithm, "The algorithm's id")->type_name("ID")->required();
  verb.add_option("--input", options.input, "The input, or its gradient")->type_name("FILE")->required();
  verb.add_option("--filter", options.filter, "The filter, or its gradient")->type_name("FILE")->required();
  verb.add_option("--output", options.output, "The output, or its gradient")->type_name("FILE")->required();
  verb.add_option("--bias", options.bias, "The bias of the epilogue, one value for each output channel")
      ->type_name("FILE");
  add_device(verb, options.device,
             "The device to run on: cpu, cuda, cuda:1, emulator. The algorithm's own when left out.");
  add_threads(verb, options.threads);
  add_workspace_cap(verb, options.workspace_cap);
  verb.footer(
      "forward writes --output, backward_data --input, backward_filter --filter; the other two files are "
      "read, as\n"
      "float32 in the problem's layout: (n, c, h, w) and (k, c, r, s) for nchw, (n, h, w, c) and (k, r, s, "
      "c) for nhwc,\n(c, h, w, n) and (c, r, s, k) for chwn.\n"
      "Exit codes: 0 written; 1 the algorithm refuses the problem or fails; 2 bad usage or files that do not "
      "fit.\n\n"
      "Example:\n  convscope exec --case \"forward n=1 c=3 hw=8x8 k=4 rs=3x3\" --algorithm direct.cpu "
      "--input x.npy --filter w.npy --output y.npy");
}

Verb exec_verb() {
  return make_verb<ExecOptions>("exec", "Run one algorithm on your own tensors, NumPy .npy in and out.",
                                add_flags, exec);
}

}  // namespace convscope

#include "bench/cli/step/parallel_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/parallel/fabric/beside_program.hpp"
#include "bench/parallel/network/simulated_network.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

constexpr WholeRange kGpus{1, 65'536};
constexpr int64_t kLargestGradient = int64_t{1} << 40;

[[noreturn]] void refuse(std::string_view flag, std::string_view text, std::string_view allowed) {
  throw UsageError(fmt::format("{}: found \"{}\"; allowed is {}", flag, text, allowed));
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool fits = read.ec == std::errc() && read.ptr == text.data() + text.size() && std::isfinite(value);
  return fits ? std::optional(value) : std::nullopt;
}

// A number with one of these units behind it, in units of the first.
struct Unit {
  std::string_view name;
  double factor;
};
std::optional<double> with_unit(std::string_view text, std::initializer_list<Unit> units) {
  for (const Unit& unit : units)
    if (text.ends_with(unit.name))
      if (const auto number = number_of(text.substr(0, text.size() - unit.name.size())))
        return *number * unit.factor;
  return std::nullopt;
}

constexpr std::string_view kRateForms = "a number above 0 with GB/s or MB/s, as in 5GB/s";
std::optional<double> rate(std::string_view text) {
  const auto value = with_unit(text, {{"GB/s", 1e9}, {"MB/s", 1e6}});
  return value && *value > 0 ? value : std::nullopt;
}

// Of "first..last": first, first * factor, ... up to last; one number by itself. Nothing where an end is not
// a number or they are in the wrong order.
template <typename Read>
std::vector<int64_t> series(std::string_view text, int64_t factor, const Read& read) {
  const size_t dots = text.find("..");
  const auto first = read(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : read(text.substr(dots + 2));
  std::vector<int64_t> values;
  if (first && last)
    for (int64_t value = *first; value <= *last; value *= factor) values.push_back(value);
  return values;
}

template <typename Read>
std::vector<int64_t> all_series(std::string_view flag, const std::vector<std::string>& texts, int64_t factor,
                                const std::string& allowed, const Read& read) {
  std::vector<int64_t> all;
  for (const std::string& text : texts) {
    const std::vector<int64_t> values = series(text, factor, read);
    if (values.empty()) refuse(flag, text, allowed);
    for (int64_t value : values)
      if (std::ranges::find(all, value) == all.end()) all.push_back(value);
  }
  return all;
}

// The links that were given: --node-link is --link where it is left out. Nothing where neither is.
std::optional<Links> read_links(const ParallelOptions& options) {
  if (options.link.empty()) return std::nullopt;
  const Link between = read_link("--link", options.link);
  return Links{options.node_link.empty() ? between : read_link("--node-link", options.node_link), between};
}

}  // namespace

std::vector<int> read_counts(std::string_view flag, const std::vector<std::string>& texts) {
  const auto read = [](std::string_view text) -> std::optional<int64_t> {
    const auto value = number_of(text);
    const bool fits = value && *value == std::floor(*value) && kGpus.has(static_cast<int64_t>(*value));
    return fits ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
  };
  const auto values = all_series(flag, texts, 2, kGpus.words() + ", or two with .. between them", read);
  return {values.begin(), values.end()};
}

std::vector<int64_t> read_sizes(std::string_view flag, const std::vector<std::string>& texts) {
  const auto read = [](std::string_view text) -> std::optional<int64_t> {
    const auto limit = parse_byte_limit(text);
    if (!limit || !limit->bytes) return std::nullopt;
    const int64_t bytes = *limit->bytes;
    return bytes > 0 && bytes % 4 == 0 && bytes <= kLargestGradient ? std::optional(bytes) : std::nullopt;
  };
  return all_series(flag, texts, 4,
                    "a multiple of 4 bytes, at most 1TiB, as in 4KiB, or two with .. between them", read);
}

Link read_link(std::string_view flag, std::string_view text) {
  const size_t comma = text.find(',');
  const auto bandwidth = rate(text.substr(0, comma));
  const auto latency = comma == std::string_view::npos
                           ? std::nullopt
                           : with_unit(text.substr(comma + 1), {{"us", 1e-6}, {"ms", 1e-3}});
  if (!bandwidth || !latency || *latency < 0)
    refuse(flag, text, "a bandwidth and a latency, as in 5GB/s,5us (GB/s or MB/s each way; us or ms)");
  return {*bandwidth, *latency};
}

double read_rate(std::string_view flag, std::string_view text) {
  const auto value = rate(text);
  if (!value) refuse(flag, text, kRateForms);
  return *value;
}

bool names_network(const ParallelOptions& options) {
  return !options.link.empty() || !options.node_link.empty() || !options.platform.empty();
}

std::unique_ptr<NetworkModel> read_network(const ParallelOptions& options) {
  if (!options.fabric.empty() && options.fabric != kSimGrid)
    throw UsageError(
        fmt::format("--fabric {}: of measured rows only; modelled ones have {}, or the closed "
                    "form when it is left out",
                    options.fabric, kSimGrid));
  const std::string simulator = beside_program("convscope_simgrid");
  if (!options.platform.empty()) {
    if (!options.link.empty() || !options.node_link.empty())
      throw UsageError("--platform: the file says what the links are; leave out --link and --node-link");
    return std::make_unique<SimulatedNetwork>(simulator, options.platform);
  }
  const auto links = read_links(options);
  if (!links)
    throw UsageError(
        "--link is missing: the link of a GPU, as in --link 5GB/s,5us; or a --platform file of SimGrid's");
  if (options.fabric.empty()) return std::make_unique<ClosedForm>(*links);
  return std::make_unique<SimulatedNetwork>(simulator, *links);
}

std::string network_flags(const ParallelOptions& options) {
  if (!options.platform.empty()) return "--platform " + shell_word(options.platform);
  std::string text = "--link " + options.link;
  if (!options.node_link.empty()) text += " --node-link " + options.node_link;
  return options.fabric.empty() ? text : text + " --fabric " + options.fabric;
}

Ranks ranks_of(int n, const ParallelOptions& options) {
  const auto per_node = static_cast<int>(options.per_node);
  return {n, per_node == 0 || per_node > n ? n : per_node};
}

Overlap read_overlap(std::string_view flag, std::string_view text) {
  if (text == "none") return {OverlapKind::none, 0};
  if (text == "layer") return {OverlapKind::layer, 0};
  constexpr std::string_view kBucket = "bucket:";
  if (text.starts_with(kBucket))
    if (const auto size = parse_byte_limit(text.substr(kBucket.size()));
        size && size->bytes && *size->bytes > 0)
      return {OverlapKind::bucket, *size->bytes};
  refuse(flag, text, "none, layer, bucket:SIZE as in bucket:25MiB");
}

void add_parallel_flags(CLI::App& verb, ParallelOptions& options) {
  verb.add_option("--gpus", options.gpus,
                  "Numbers of GPUs, or of ranks that stand for them; 1..1024 is 1, 2, 4, ...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N,...");
  verb.add_option("--reduce", options.reduce,
                  "Reductions: tree, ring, halving, hierarchical, striped; measured also the library's own, "
                  "mpi between processes and nccl between GPUs.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  verb.add_option("--link", options.link,
                  "Of modelled rows: bandwidth each way and latency of a GPU's link, as in 5GB/s,5us.")
      ->type_name("LINK");
  verb.add_option("--node-link", options.node_link, "The same within a node; --link when left out.")
      ->type_name("LINK");
  verb.add_option(
          "--platform", options.platform,
          "Of modelled rows, in place of --link: a platform file of SimGrid's, each host of which is a "
          "GPU, in the order of names.")
      ->type_name("FILE");
  verb.add_option("--per-node", options.per_node, "GPUs of a node; all when left out.")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{65'536}));
  add_out(verb, options.out, "A new folder for the rows; none is written when left out.");
}

}  // namespace convscope

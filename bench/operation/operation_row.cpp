// The columns of OperationRow, and docs/operation_format.md.
#include "bench/operation/measure_operations.hpp"

namespace convscope {
namespace {

using R = OperationRow;

Cell milliseconds(const R& r, double seconds) {
  return r.time.n > 0 ? cell(1e3 * seconds) : Cell{};
}

constexpr ColumnOf<R> kColumns[] = {
    {"network", "", "The config's name.", [](const R& r) { return cell(r.of.network); }},
    {"batch", "", "Images.", [](const R& r) { return cell(r.of.batch); }},
    {"device", "", "cpu, cuda, cuda:1 or emulator.", [](const R& r) { return cell(name(r.of.device.id())); }},
    {"device_name", "", "The device's own name.", [](const R& r) { return cell(r.of.device.name); }},
    {"machine_class", "", "The class of machine.",
     [](const R& r) { return cell(r.of.device.machine_class); }},
    {"machine_unit", "", "Which machine of that class.",
     [](const R& r) { return cell(r.of.device.machine_unit); }},
    {"threads", "", "OpenMP threads; 1 on a GPU.", [](const R& r) { return cell(r.of.threads); }},
    {"layer", "",
     "The layer that it follows, or whose input it pools; of update and 1bit the layer whose parameters or "
     "gradient it changes.",
     [](const R& r) { return cell(r.layer); }},
    {"operation", "",
     "bias, relu, bias+relu (one pass), lrn, pool (the maximum), mean, batch_norm, batch_norm+relu, add (of "
     "another layer's output), add+relu, copy (of a gradient, or of a part of a concatenation), update (SGD "
     "with momentum and decay), or 1bit (the filter's gradient coded by one bit a value, with error "
     "feedback, and decoded).",
     [](const R& r) { return cell(r.problem.sort); }},
    {"direction", "", "forward or backward; null of add, add+relu, copy, update and 1bit.",
     [](const R& r) {
       return r.problem.has_directions() ? cell(std::string(r.problem.backward ? "backward" : "forward"))
                                         : Cell{};
     }},
    {"problem", "", "The operation with its sizes, in one line.",
     [](const R& r) { return cell(to_text(r.problem)); }},
    {"provider", "", "Whose code it is.", [](const R& r) { return cell(r.provider); }},
    {"version", "", "The library's version.", [](const R& r) { return cell(r.version); }},
    {"implementation", "", "What the library chose.", [](const R& r) { return cell(r.implementation); }},
    {"outcome", "",
     "measured; verified_only: right, on the emulator, which is not timed; wrong: it failed the check; "
     "refused: the provider does not compute it.",
     [](const R& r) { return cell(r.outcome); }},
    {"note", "", "What is wrong, or why it was refused.", [](const R& r) { return cell(r.note); }},
    {"relative_l2", "", "The largest error against f64 of a tensor that it writes.",
     [](const R& r) { return cell(r.relative_l2); }},
    {"samples", "",
     "What median_ms is the median of: single runs; on a GPU of short runs the means of several.",
     [](const R& r) { return r.time.n > 0 ? cell(r.time.n) : Cell{}; }},
    {"median_ms", "ms", "One run with all tensors out of the caches: the median.",
     [](const R& r) { return milliseconds(r, r.time.median); }},
    {"ci_low_ms", "ms", "The lower end of its 95% interval.",
     [](const R& r) { return milliseconds(r, r.time.ci_low); }},
    {"ci_high_ms", "ms", "The upper end.", [](const R& r) { return milliseconds(r, r.time.ci_high); }},
    {"disturbed", "",
     "Samples that were disturbed twice and kept; in older files of the problem, all providers together.",
     [](const R& r) { return cell(r.disturbed); }},
    {"bytes", "bytes",
     "Each tensor read or written once, twice where it is updated in place; what is kept for backward, and "
     "scratch, are not in it.",
     [](const R& r) { return cell(r.problem.bytes()); }},
    {"gbs", "GB/s", "bytes over median_ms.",
     [](const R& r) { return r.time.n > 0 ? cell(1e-9 * r.bytes_per_second()) : Cell{}; }},
    {"bandwidth_share", "", "gbs as a share of the measured copy bandwidth.",
     [](const R& r) {
       return r.time.n > 0 && r.of.ceilings.copy_bytes > 0
                  ? cell(r.bytes_per_second() / r.of.ceilings.copy_bytes)
                  : Cell{};
     }},
    {"copy_gbs", "GB/s", "The measured copy bandwidth, bytes read plus bytes written.",
     [](const R& r) {
       return r.of.ceilings.copy_bytes > 0 ? cell(1e-9 * r.of.ceilings.copy_bytes) : Cell{};
     }},
    {"rerun", "", "The command that measures the network's operations again.",
     [](const R& r) { return cell(r.of.rerun); }},
};

}  // namespace

std::string_view name(OperationOutcome outcome) {
  constexpr std::string_view names[] = {"measured", "verified_only", "wrong", "refused"};
  return names[static_cast<size_t>(outcome)];
}

std::span<const ColumnOf<OperationRow>> operation_columns() {
  return kColumns;
}

std::string operation_format_markdown() {
  return "# Columns of operations.csv\n\nMade by `convscope list columns operations --markdown` from the "
         "program's own table; a test fails when this file differs.\n\n"
         "`convscope operations CONFIG --out DIR` writes a row for each operation between the convolutions "
         "of a network, direction and\n"
         "provider ([step.md](step.md)). `operations.json` holds the same rows under the same names. Empty "
         "is null.\n\n" +
         columns_markdown(operation_columns());
}

}  // namespace convscope

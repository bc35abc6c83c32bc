// The verb itself; what each listing looks like is in list_tables.cpp.
#include "bench/cli/list.hpp"

#include <fmt/format.h>

#include "bench/core/error.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {

void list(std::ostream& out, const ListOptions& options, const Registry& registry) {
  if (options.what == "layers" && options.config.empty())
    throw UsageError("list layers: name a config, as in `convscope list layers configs/alexnet.json`");
  if (options.what != "layers" && !options.config.empty())
    throw UsageError(
        fmt::format("list {}: \"{}\" is one argument too many; only `list layers` reads a config",
                    options.what, options.config));
  if (options.what != "columns" && options.markdown)
    throw UsageError("--markdown is for `list columns` only");

  if (options.what == "algorithms")
    list_algorithms(out, registry, find_devices(), options.json);
  else if (options.what == "devices")
    list_devices(out, find_devices(), options.json);
  else if (options.what == "layers")
    list_layers(out, load_suite(options.config), options.json);
  else if (options.what == "columns")
    list_columns(out, options.json, options.markdown);
  else
    throw UsageError(
        fmt::format("list: found \"{}\"; allowed are algorithms, devices, layers and columns", options.what));
}

}  // namespace convscope

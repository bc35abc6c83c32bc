#include "bench/standin/configuration.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace convscope::standin {
namespace {

using nlohmann::json;

// One of two words, as a bool: true for the first.
bool one_of(const json& value, const char* first, const char* second) {
  const auto word = value.get<std::string>();
  if (word != first && word != second)
    throw std::runtime_error("\"" + word + "\" is neither " + first + " nor " + second);
  return word == first;
}

ptx::Order order_of(const std::string& word) {
  if (word == "forward") return ptx::Order::forward;
  if (word == "reverse") return ptx::Order::reverse;
  if (word == "random") return ptx::Order::random;
  throw std::runtime_error("order \"" + word + "\"");
}

Fault fault_of(const json& object) {
  Fault fault;
  for (const auto& [key, value] : object.items()) {
    if (key == "kernel")
      fault.kernel = value;
    else if (key == "call")
      fault.call = value;
    else if (key == "at")
      fault.at = value;
    else if (key == "error")
      fault.error = static_cast<cudaError_t>(value.get<int>());
    else if (key == "hangs")
      fault.hangs = value;
    else if (key == "once_file")
      fault.once_file = value;
    else
      throw std::runtime_error("a fault has no \"" + key + "\"");
  }
  if (fault.kernel.empty() == fault.call.empty())
    throw std::runtime_error("a fault has one of \"kernel\" and \"call\"");
  return fault;
}

void set(Configuration& c, const std::string& key, const json& value) {
  if (key == "order")
    c.interpreter.order = order_of(value);
  else if (key == "seed")
    c.interpreter.seed = value;
  else if (key == "copies")
    c.interpreter.late = one_of(value, "late", "early");
  else if (key == "tensor_sums")
    c.interpreter.truncate = one_of(value, "truncated", "exact");
  else if (key == "races")
    c.interpreter.races = value;
  else if (key == "uninitialised")
    c.interpreter.report_uninitialised = value;
  else if (key == "skipped")
    c.skipped = value.get<std::vector<std::string>>();
  else if (key == "launch_nanoseconds")
    c.launch_nanoseconds = value;
  else if (key == "lazy_loading")
    c.lazy_loading = value;
  else if (key == "held")
    c.held = value;
  else if (key == "free_waits")
    c.free_waits = value;
  else if (key == "devices")
    c.devices = value;
  else if (key == "driver")
    c.driver = value;
  else if (key == "queue_entries")
    c.queue_entries = value;
  else if (key == "memory_bytes")
    c.memory_bytes = value;
  else if (key == "target")
    c.target = one_of(value, "sm_90a", "sm_80") ? "sm_90a" : "sm_80";
  else if (key == "ptx_folder")
    c.ptx_folder = value;
  else if (key == "write_ptx")
    c.write_ptx = value;
  else if (key == "report")
    c.report = value;
  else if (key == "faults")
    for (const auto& object : value) c.faults.push_back(fault_of(object));
  else
    throw std::runtime_error("no setting \"" + key + "\"");
}

bool plays(const Fault& fault, long count) {
  if (fault.at != 0 && fault.at != count) return false;
  return fault.once_file.empty() || unlink(fault.once_file.c_str()) == 0;
}

// Counts what happened, by name.
long count_of(const std::string& name) {
  static std::mutex mutex;
  static auto* counts = new std::map<std::string, long>;
  const std::lock_guard lock(mutex);
  return ++(*counts)[name];
}

}  // namespace

Configuration parse_configuration(const std::string& text) {
  Configuration c;
  const json settings = json::parse(text);
  for (const auto& [key, value] : settings.items()) set(c, key, value);
  return c;
}

const Configuration& configuration() {
  static const auto* c = [] {
    const char* path = std::getenv("CONVSCOPE_STANDIN");
    if (path == nullptr) return new Configuration;
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    try {
      return new Configuration(parse_configuration(text.str()));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "standin: %s: %s\n", path, error.what());
      std::_Exit(2);
    }
  }();
  return *c;
}

cudaError_t scripted_call(const char* function) {
  if (configuration().faults.empty()) return cudaSuccess;
  const long count = count_of(function);
  for (const Fault& fault : configuration().faults)
    if (fault.call == function && plays(fault, count)) return fault.error;
  return cudaSuccess;
}

const Fault* scripted_launch(const std::string& kernel) {
  const auto& faults = configuration().faults;
  for (size_t n = 0; n < faults.size(); ++n) {
    const Fault& fault = faults[n];
    if (fault.kernel.empty() || kernel.find(fault.kernel) == std::string::npos) continue;
    if (plays(fault, count_of("fault " + std::to_string(n)))) return &fault;
  }
  return nullptr;
}

}  // namespace convscope::standin

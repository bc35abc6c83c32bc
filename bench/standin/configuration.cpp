#include "bench/standin/configuration.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace convscope::standin {
namespace {

using nlohmann::json;

// Whether the value is the first of two allowed words.
bool one_of(const json& value, const char* first, const char* second) {
  const auto word = value.get<std::string>();
  if (word != first && word != second)
    throw std::runtime_error("\"" + word + "\" is neither " + first + " nor " + second);
  return word == first;
}

ptx::Order order_of(const json& value) {
  static const std::map<std::string, ptx::Order> orders = {
      {"forward", ptx::Order::forward}, {"reverse", ptx::Order::reverse}, {"random", ptx::Order::random}};
  const auto found = orders.find(value.get<std::string>());
  if (found == orders.end()) throw std::runtime_error("order " + value.dump());
  return found->second;
}

// The members of a JSON object, each read once.
class Members {
 public:
  explicit Members(json object) : object_(std::move(object)) {}

  // The member's value, or null where there is none.
  json take(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return nullptr;
    const json value = *found;
    object_.erase(found);
    return value;
  }
  template <typename T>
  void read(const char* name, T& to) {
    if (const json value = take(name); !value.is_null()) value.get_to(to);
  }
  // Throws where a member was not read; `words` come before its name.
  void check_end(const std::string& words) const {
    if (!object_.empty()) throw std::runtime_error(words + " \"" + object_.begin().key() + "\"");
  }

 private:
  json object_;
};

Fault fault_of(const json& object) {
  Fault fault;
  Members members(object);
  members.read("kernel", fault.kernel);
  members.read("call", fault.call);
  members.read("at", fault.at);
  members.read("error", fault.error);
  members.read("hangs", fault.hangs);
  members.read("once_file", fault.once_file);
  members.check_end("a fault has no");
  if (fault.kernel.empty() == fault.call.empty())
    throw std::runtime_error("a fault has one of \"kernel\" and \"call\"");
  return fault;
}

bool plays(const Fault& fault, long count) {
  if (fault.at != 0 && fault.at != count) return false;
  return fault.once_file.empty() || unlink(fault.once_file.c_str()) == 0;
}

// Counts events by name.
long count_of(const std::string& name) {
  static std::mutex mutex;
  static auto* counts = new std::map<std::string, long>;
  const std::lock_guard lock(mutex);
  return ++(*counts)[name];
}

}  // namespace

Configuration parse_configuration(const std::string& text) {
  Configuration c;
  Members members(json::parse(text));
  if (const json order = members.take("order"); !order.is_null()) c.interpreter.order = order_of(order);
  if (const json copies = members.take("copies"); !copies.is_null())
    c.interpreter.late = one_of(copies, "late", "early");
  if (const json sums = members.take("tensor_sums"); !sums.is_null())
    c.interpreter.truncate = one_of(sums, "truncated", "exact");
  if (const json target = members.take("target"); !target.is_null())
    c.target = one_of(target, "sm_90a", "sm_80") ? "sm_90a" : "sm_80";
  for (const json& fault : members.take("faults")) c.faults.push_back(fault_of(fault));
  members.read("seed", c.interpreter.seed);
  members.read("skipped", c.skipped);
  members.read("launch_nanoseconds", c.launch_nanoseconds);
  members.read("lazy_loading", c.lazy_loading);
  members.read("held", c.held);
  members.read("free_waits", c.free_waits);
  members.read("events_need_idle", c.events_need_idle);
  members.read("devices", c.devices);
  members.read("driver", c.driver);
  members.read("queue_entries", c.queue_entries);
  members.read("memory_bytes", c.memory_bytes);
  members.read("l2_bytes", c.l2_bytes);
  members.read("ptx_folder", c.ptx_folder);
  members.read("write_ptx", c.write_ptx);
  members.read("report", c.report);
  members.check_end("no setting");
  return c;
}

const Configuration& configuration() {
  static const auto* c = [] {
    const char* path = std::getenv("CONVSCOPE_STANDIN");
    if (path == nullptr) return new Configuration;
    try {
      std::ifstream file(path);
      if (!file) throw std::runtime_error("cannot be opened");
      const std::string text(std::istreambuf_iterator<char>(file), {});
      return new Configuration(parse_configuration(text));
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

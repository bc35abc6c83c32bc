#include "bench/standin/kernels.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "bench/ptx/module.hpp"
#include "bench/standin/configuration.hpp"
#include "bench/standin/fat_binary.hpp"

namespace convscope::standin {
namespace {

// Never destroyed, so that threads may outlive it.
struct Registry {
  std::mutex mutex;
  std::vector<const void*> binaries;
  std::mutex names_mutex;
  std::map<const void*, std::string> names;
  std::set<const void*> host_kernels;
  bool loaded = false;
  std::vector<std::unique_ptr<ptx::Module>> modules;
  std::map<std::string, ptx::Module*> module_of;
};

Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

void add(Registry& r, std::string text) {
  r.modules.push_back(std::make_unique<ptx::Module>(std::move(text)));
  for (const auto& name : r.modules.back()->kernels()) r.module_of.emplace(name, r.modules.back().get());
}

// Files go before what the program has.
void load(Registry& r) {
  r.loaded = true;
  const Configuration& c = configuration();
  if (!c.ptx_folder.empty())
    for (const auto& file : std::filesystem::recursive_directory_iterator(c.ptx_folder)) {
      if (file.path().extension() != ".ptx") continue;
      std::stringstream text;
      text << std::ifstream(file.path()).rdbuf();
      add(r, text.str());
    }
  for (const void* binary : r.binaries)
    for (auto& text : ptx_of(binary, c.target == "sm_90a" ? 90 : 80)) {
      if (!c.write_ptx.empty())
        std::ofstream(c.write_ptx + "/" + std::to_string(r.modules.size()) + ".ptx") << text;
      add(r, std::move(text));
    }
}

}  // namespace

void register_binary(const void* wrapper) {
  registry().binaries.push_back(wrapper);
}

void register_kernel(const void* host_function, const char* name) {
  const std::lock_guard lock(registry().names_mutex);
  registry().names[host_function] = name;
}

void register_host_kernel(const void* host_function, const std::string& name) {
  const std::lock_guard lock(registry().names_mutex);
  if (registry().host_kernels.insert(host_function).second) registry().names[host_function] = name;
}

bool is_host_kernel(const void* host_function) {
  const std::lock_guard lock(registry().names_mutex);
  return registry().host_kernels.count(host_function) != 0;
}

const std::string* kernel_name(const void* host_function) {
  const std::lock_guard lock(registry().names_mutex);
  const auto found = registry().names.find(host_function);
  return found == registry().names.end() ? nullptr : &found->second;
}

const ptx::Kernel& parsed_kernel(const std::string& name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (!r.loaded) load(r);
  const auto module = r.module_of.find(name);
  if (module == r.module_of.end())
    throw std::runtime_error("the program has no PTX of " + name + " for " + configuration().target);
  return *module->second->kernel(name);
}

}  // namespace convscope::standin

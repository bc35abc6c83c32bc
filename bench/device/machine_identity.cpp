#include "bench/device/machine_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "bench/device/cpu/system_files.hpp"

namespace convscope {
namespace {

// FNV-1a, 64 bits.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string fact(const MachineFacts& facts, std::string_view name) {
  const auto found = std::find_if(facts.begin(), facts.end(),
                                  [&](const auto& candidate) { return candidate.first == name; });
  return found == facts.end() ? "" : found->second;
}

}  // namespace

std::string machine_class(std::string_view label, const MachineFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += fmt::format("{}={}\n", name, value);
  return fmt::format("{}-{:08x}", label, hash_of(text) >> 32);
}

std::string machine_unit(std::string_view secret) {
  if (secret.empty()) return "";
  return fmt::format("{:012x}", hash_of("convscope machine unit " + std::string(secret)) >> 16);
}

std::string host_secret(const std::string& root) {
  return first_line(root + (is_container(root) ? "/sys/class/dmi/id/product_uuid" : "/etc/machine-id"));
}

MachineFacts processor_facts(const std::string& root, const std::vector<int>& cores) {
  MachineFacts facts;
  for (const char* name : {"vendor_id", "cpu family", "model", "stepping", "microcode"})
    facts.emplace_back(name, cpuinfo(root, name));
  // What an ARM processor says instead. Facts of others stay as they are, and so do their classes.
  for (const char* name : {"CPU implementer", "CPU variant", "CPU part", "CPU revision"})
    if (const std::string value = cpuinfo(root, name); !value.empty()) facts.emplace_back(name, value);
  const CacheSizes caches = cache_sizes(root, cores);
  facts.emplace_back("cores", std::to_string(cores.size()));
  facts.emplace_back("smt", first_line(root + "/sys/devices/system/cpu/smt/active"));
  facts.emplace_back("l1", std::to_string(caches.l1));
  facts.emplace_back("l2", std::to_string(caches.l2));
  facts.emplace_back("last level", std::to_string(caches.last_level));
  facts.emplace_back("hypervisor", has_hypervisor(root) ? "yes" : "no");
  return facts;
}

std::string processor_label(const MachineFacts& facts) {
  const std::string vendor = fact(facts, "vendor_id");
  if (vendor.empty()) return "cpu";
  std::string name = vendor == "AuthenticAMD" ? "amd" : vendor == "GenuineIntel" ? "intel" : "";
  if (name.empty())
    for (const char c : vendor)
      if (std::isalnum(static_cast<unsigned char>(c)) != 0)
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return fmt::format("{}-f{}m{}s{}", name, fact(facts, "cpu family"), fact(facts, "model"),
                     fact(facts, "stepping"));
}

}  // namespace convscope

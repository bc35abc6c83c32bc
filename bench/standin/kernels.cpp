// What the program registered, and the PTX in its fat binaries. NVIDIA does not document their format; it is
// described in the sources of ZLUDA (https://github.com/vosen/ZLUDA, cuda_types/src/dark_api.rs) and of
// cuda-fatbin-decompression (https://github.com/n-eiling/cuda-fatbin-decompression).
#include "bench/standin/kernels.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
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

namespace convscope::standin {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1, kFileMagic = 0xba55ed50;
constexpr uint16_t kPtx = 1;
constexpr uint64_t kLz4 = 0x2000, kZstandard = 0x8000;

struct Wrapper {
  uint32_t magic, version;
  const char* file;
};

struct FileHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // after the header
};

struct EntryHeader {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t padded_bytes;
  uint32_t compressed_bytes, unknown[2], capability, bits, unknown2;
  uint64_t flags, unknown3, text_bytes;
};

template <typename T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::string text_of(const EntryHeader& entry, const char* payload) {
  if (entry.flags & kLz4)
    throw std::runtime_error(
        "PTX compressed by LZ4, as by CUDA 12; the stand-in reads Zstandard, as by CUDA 13");
  if (!(entry.flags & kZstandard)) return std::string(payload, strnlen(payload, entry.padded_bytes));
  const auto bytes = ZSTD_getFrameContentSize(payload, entry.compressed_bytes);
  if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN)
    throw std::runtime_error("a fat binary whose PTX is not a Zstandard frame");
  std::string text(bytes, '\0');
  const size_t done = ZSTD_decompress(text.data(), text.size(), payload, entry.compressed_bytes);
  if (ZSTD_isError(done)) throw std::runtime_error("a fat binary whose PTX cannot be decompressed");
  text.resize(std::strlen(text.c_str()));
  return text;
}

// The PTX texts of one fat binary for a compute capability (80, 90). `wrapper`: what __cudaRegisterFatBinary
// is given. Throws std::runtime_error for an unknown format.
std::vector<std::string> ptx_of(const void* wrapper, unsigned capability) {
  const auto outer = read<Wrapper>(static_cast<const char*>(wrapper));
  if (outer.magic != kWrapperMagic) throw std::runtime_error("not a fat binary");
  const auto file = read<FileHeader>(outer.file);
  if (file.magic != kFileMagic) throw std::runtime_error("not a fat binary of a known format");
  std::vector<std::string> texts;
  const char* at = outer.file + file.header_bytes;
  for (const char* end = at + file.bytes; at < end;) {
    const auto entry = read<EntryHeader>(at);
    if (entry.kind == kPtx && entry.capability == capability)
      texts.push_back(text_of(entry, at + entry.header_bytes));
    at += entry.header_bytes + entry.padded_bytes;
  }
  return texts;
}

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

// PTX files take precedence over the program's own PTX.
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

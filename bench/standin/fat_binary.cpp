// The format is not documented by NVIDIA; it is described in the sources of ZLUDA
// (https://github.com/vosen/ZLUDA, cuda_types/src/dark_api.rs) and of cuda-fatbin-decompression
// (https://github.com/n-eiling/cuda-fatbin-decompression).
#include "bench/standin/fat_binary.hpp"

#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

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
  uint64_t bytes;  // behind the header
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

}  // namespace

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

}  // namespace convscope::standin

#include "bench/record/compressed_file.hpp"

#include <lzma.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>

#include "bench/core/error.hpp"

namespace convscope {
namespace {

constexpr size_t kLargestContent = size_t{1} << 30;

const char* words(lzma_ret code) {
  switch (code) {
    case LZMA_BUF_ERROR:
      return "the compressed file is cut off; copy it again";
    case LZMA_OPTIONS_ERROR:
    case LZMA_FORMAT_ERROR:
      return "the compressed file has a form that this program's liblzma does not read";
    default:
      return "the compressed file is damaged; copy it again";
  }
}

}  // namespace

bool is_xz(std::string_view bytes) {
  constexpr std::string_view kMagic(
      "\xfd"
      "7zXZ\0",
      6);
  return bytes.starts_with(kMagic);
}

std::string unpack_xz(std::string_view bytes) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> end(&stream, lzma_end);
  stream.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  std::string content;
  std::array<uint8_t, 1 << 16> part;
  for (lzma_ret code = LZMA_OK; code != LZMA_STREAM_END;) {
    stream.next_out = part.data();
    stream.avail_out = part.size();
    code = lzma_code(&stream, LZMA_FINISH);
    if (code == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (code != LZMA_OK && code != LZMA_STREAM_END) throw UsageError(words(code));
    content.append(reinterpret_cast<const char*>(part.data()), part.size() - stream.avail_out);
    if (content.size() > kLargestContent)
      throw UsageError("unpacked it is larger than 1 GiB: this is no run");
  }
  return content;
}

}  // namespace convscope

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>

#include "bench/core/error_of_test.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

std::string pack(const std::string& content) {
  std::string packed(lzma_stream_buffer_bound(content.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const uint8_t*>(content.data()), content.size(),
                                    reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}

std::string error_of(const std::string& bytes) {
  return testing::error_of([&] { unpack_xz(bytes); });
}

TEST(CompressedFile, UnpacksToWhatWasPacked) {
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += std::to_string(i * 7919 % 10007);
  for (const std::string& text : {std::string(), std::string("{}"), content}) {
    EXPECT_TRUE(is_xz(pack(text)));
    EXPECT_EQ(unpack_xz(pack(text)), text);
    EXPECT_EQ(unpack_xz(pack(text) + pack("more")), text + "more") << "files joined by cat";
  }
}

TEST(CompressedFile, KnowsItselfByItsFirstBytes) {
  for (const char* text : {"", "{\"schema_version\": 2}", "7zXZ",
                           "\xfd"
                           "7zX"})
    EXPECT_FALSE(is_xz(text));
}

TEST(CompressedFile, CutOffAtAnyByteIsRefused) {
  const std::string packed = pack(std::string(1000, 'x') + "end");
  for (size_t size = 6; size < packed.size(); ++size)
    EXPECT_THAT(error_of(packed.substr(0, size)), HasSubstr("cut off")) << size << " bytes";
}

TEST(CompressedFile, ThatAsksForTooMuchMemoryIsRefused) {
  std::string packed = pack("{}");
  const size_t header = 12, filter = packed.find("\x21\x01", header);
  const size_t check_at = header + 4 * static_cast<size_t>(packed[header]);
  packed[filter + 2] = 40;  // the dictionary's size: 4 GiB
  const uint32_t check = lzma_crc32(reinterpret_cast<const uint8_t*>(&packed[header]), check_at - header, 0);
  for (size_t i = 0; i < 4; ++i) packed[check_at + i] = static_cast<char>(check >> 8 * i);
  EXPECT_THAT(error_of(packed), HasSubstr("256 MiB of memory"));
}

TEST(CompressedFile, WithAnyBitTurnedIsRefusedOrTheSame) {
  const std::string content = std::string(1000, 'x') + "end", packed = pack(content);
  for (size_t at = 6; at < packed.size(); ++at) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_NE(error_of(damaged), "") << "byte " << at;
  }
}

}  // namespace
}  // namespace convscope

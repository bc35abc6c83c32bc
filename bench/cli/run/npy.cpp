#include "bench/cli/run/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "bench/core/error.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

static_assert(std::endian::native == std::endian::little, "the values are copied as they are");

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UsageError(path + ": " + what);
}

// A part of the header as a message may show it.
std::string printable(std::string_view text) {
  constexpr size_t longest = 60;
  std::string shown(text.substr(0, longest));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 32 || c > 126; }, '?');
  return shown + (text.size() > longest ? "..." : "");
}

// The file's header: a Python dict literal, and where the values begin.
struct Header {
  std::string_view dict;
  size_t data_begin = 0;
};

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Header read_header(const std::string& path, std::string_view bytes) {
  if (bytes.size() < 8 || !bytes.starts_with(kMagic))
    fail(path, "this is not a .npy file (it does not start with \\x93NUMPY)");
  const int major = static_cast<unsigned char>(bytes[6]), minor = static_cast<unsigned char>(bytes[7]);
  if ((major != 1 && major != 2) || minor != 0)
    fail(path, fmt::format("its .npy format version is {}.{}; 1.0 and 2.0 can be read", major, minor));
  const size_t begin = major == 1 ? 10 : 12;
  if (bytes.size() < begin || little_endian(bytes.substr(8, begin - 8)) > bytes.size() - begin)
    fail(path, "it is cut short inside its header");
  const size_t size = little_endian(bytes.substr(8, begin - 8));
  return {bytes.substr(begin, size), begin + size};
}

// What follows `'key':` in the dict, without spaces before it; empty when the key is missing.
std::string_view after_key(std::string_view dict, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{0}{1}{0}", quote, key);
    size_t at = dict.find(quoted);
    if (at == std::string_view::npos) continue;
    at = dict.find_first_not_of(" \t:", at + quoted.size());
    if (at != std::string_view::npos) return dict.substr(at);
  }
  return {};
}

// Bytes of one element, 4 or 8.
size_t element_bytes(const std::string& path, std::string_view dict) {
  const std::string_view value = after_key(dict, "descr");
  const bool quoted = value.size() > 1 && (value[0] == '\'' || value[0] == '"');
  const size_t end = quoted ? value.find(value[0], 1) : std::string_view::npos;
  if (end == std::string_view::npos)
    fail(path, "its element type is not a plain one; float32 ('<f4') and float64 ('<f8') can be read");
  const std::string_view type = value.substr(1, end - 1);
  if (type == "<f4") return 4;
  if (type == "<f8") return 8;
  const bool swapped = type == ">f4" || type == ">f8";
  fail(path, fmt::format(
                 "its element type is '{}'{}; little-endian float32 ('<f4') and float64 ('<f8') can be read",
                 printable(type), swapped ? " (big-endian)" : ""));
}

void check_order(const std::string& path, std::string_view dict) {
  const std::string_view value = after_key(dict, "fortran_order");
  if (value.rfind("False", 0) == 0) return;
  if (value.rfind("True", 0) == 0)
    fail(path, "it is stored in Fortran order; save numpy.ascontiguousarray(x) instead");
  fail(path, "its header does not say 'fortran_order': False");
}

std::vector<int64_t> read_shape(const std::string& path, std::string_view dict) {
  std::string_view value = after_key(dict, "shape");
  const size_t end = value.find(')');
  if (value.empty() || value[0] != '(' || end == std::string_view::npos)
    fail(path, "its header has no 'shape': (...)");
  value = value.substr(1, end - 1);
  std::vector<int64_t> shape;
  while (true) {
    const size_t begin = value.find_first_not_of(" ,");
    if (begin == std::string_view::npos) return shape;
    value.remove_prefix(begin);
    int64_t size = -1;
    const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || size < 0)
      fail(path, fmt::format("its shape holds \"{}\" where a whole number is expected", printable(value)));
    value.remove_prefix(static_cast<size_t>(rest - value.data()));
    shape.push_back(size);
  }
}

// The number of elements, unless it is more than `limit`.
std::optional<size_t> elements(const std::vector<int64_t>& shape, size_t limit) {
  size_t count = 1;
  for (int64_t size : shape) {
    const auto factor = static_cast<size_t>(size);
    if (factor != 0 && count > limit / factor) return std::nullopt;
    count *= factor;
  }
  return count;
}

}  // namespace

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

NpyArray read_npy(const std::string& path) {
  return npy_from_bytes(read_file(path), path);
}

NpyArray npy_from_bytes(std::string_view bytes, const std::string& path) {
  const Header header = read_header(path, bytes);
  const size_t bytes_each = element_bytes(path, header.dict);
  check_order(path, header.dict);
  NpyArray array{read_shape(path, header.dict), {}};
  const std::string_view data = bytes.substr(header.data_begin);
  const auto count = elements(array.shape, data.size() / bytes_each);
  if (!count || *count * bytes_each != data.size())
    fail(path,
         fmt::format("its shape {} does not fit the {} bytes of data in it: it is cut short, or more is "
                     "appended",
                     shape_text(array.shape), data.size()));

  array.values.resize(*count);
  for (size_t i = 0; i < *count; ++i) {
    if (bytes_each == 4) {
      std::memcpy(&array.values[i], &data[4 * i], 4);
    } else {
      double value;
      std::memcpy(&value, &data[8 * i], 8);
      array.values[i] = static_cast<float>(value);
    }
  }
  return array;
}

void write_npy(const std::string& path, const NpyArray& array) {
  std::string dict =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape_text(array.shape));
  // The values start at a multiple of 64 bytes, as NumPy writes them.
  const size_t before_dict = kMagic.size() + 4;
  dict.append(63 - (before_dict + dict.size()) % 64, ' ').push_back('\n');
  std::string text(kMagic);
  text += {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  text += dict;
  text.append(reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(float));
  write_file_atomically(path, text);
}

}  // namespace convscope

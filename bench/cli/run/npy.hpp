// NumPy's .npy files of float32, for `exec`. Only what a convolution tensor needs: C order, little-endian,
// format versions 1.0 and 2.0. Layout of the file: numpy.lib.format in NumPy's documentation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

struct NpyArray {
  std::vector<int64_t> shape;
  std::vector<float> values;  // in C order: the last axis is contiguous
};

// Reads f4, and f8 rounded to f4. Throws UsageError that names the file, what was found and what is allowed:
// not a .npy file, another version, element type, byte order or axis order, data shorter or longer than the
// shape says.
NpyArray read_npy(const std::string& path);
// The same of a file's bytes; `path` is for messages.
NpyArray npy_from_bytes(std::string_view bytes, const std::string& path);

// Writes version 1.0, f4, atomically. Throws UsageError when the file cannot be written.
void write_npy(const std::string& path, const NpyArray& array);

// "(16, 96, 27, 27)"
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace convscope

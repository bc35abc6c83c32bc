// Reads files as results/ keeps them: plain, or compressed by xz where their first bytes say so. The name of
// a file decides nothing.
#pragma once

#include <string>
#include <string_view>

namespace convscope {

// Whether `bytes` begin as the .xz file format does (xz-file-format 1.2, section 2.1.1.1).
bool is_xz(std::string_view bytes);

// The content of one .xz file, its checksums verified. Throws UsageError with what is wrong: damaged, cut
// off, or larger than 1 GiB when unpacked.
std::string unpack_xz(std::string_view bytes);

}  // namespace convscope

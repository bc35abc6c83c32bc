// "1 record", "3 records": a number of things, in sentences for people.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace convscope {

// `thing` is one of them, and gets an s where there are more or none.
std::string counted(std::integral auto count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

}  // namespace convscope

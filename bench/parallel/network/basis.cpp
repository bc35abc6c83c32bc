#include "bench/parallel/network/basis.hpp"

#include <array>

namespace convscope {

std::string_view name(Basis basis) {
  constexpr std::array<std::string_view, kBases.size()> names{"measured", "replayed", "modelled"};
  return names[static_cast<size_t>(basis)];
}

std::string_view name(RowOutcome outcome) {
  constexpr std::array<std::string_view, 4> names{"good", "refused", "wrong", "failed"};
  return names[static_cast<size_t>(outcome)];
}

}  // namespace convscope

// What the schedules of all CUDA variants count on. Constants, not the device's figures, so that the same
// problem is computed in the same way on every device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "bench/core/problem.hpp"

namespace convscope {

inline constexpr int64_t kMultiprocessors = 132;  // of an H100 SXM and an H200
inline constexpr int64_t kMaxGridYz = 65535;      // blocks of a launch in y, and in z

// Why backward-data, of algorithms that launch a kernel for each residue of the stride with a pixel of the
// input, would take minutes to plan and to launch, as a sentence; nothing where it would not.
inline std::optional<std::string> residue_defect(const ConvProblem& p) {
  constexpr int64_t kMax = 4096;
  const int64_t residues = std::min(p.stride.h, p.input.h) * std::min(p.stride.w, p.input.w);
  if (p.pass != Pass::backward_data || residues <= kMax) return std::nullopt;
  return "stride " + to_text(p.stride) + " splits an input of " + to_text(p.input) + " into " +
         std::to_string(residues) + " residues, in backward_data a launch each: at most " +
         std::to_string(kMax);
}

}  // namespace convscope

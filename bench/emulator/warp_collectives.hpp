// Shuffles, votes and the gathering of all lanes' values, on top of executor::join_warp: the lane that
// arrives last computes every lane's result. Not for kernels: builtins.hpp and intrinsics.hpp give them their
// names.
#pragma once

#include <string>
#include <type_traits>

#include "bench/emulator/executor.hpp"

namespace convscope::emulated::executor {

// Of what only copies registers between the lanes: no sanitizer has anything to find there.
#define CONVSCOPE_OF_REGISTERS __attribute__((no_sanitize("thread", "address", "undefined")))

template <typename T>
struct Shuffled {
  T in, out;
  int source;
};
template <typename T>
CONVSCOPE_UNWATCHED T shuffle(unsigned mask, T value, int source, const char* operation,
                              const CallSite& site) {
  static_assert(std::is_trivially_copyable_v<T>);
  Shuffled<T> mine{value, value, source};
  join_warp(
      mask, &mine,
      [](void* const* lanes, unsigned present, const CallSite& at) CONVSCOPE_OF_REGISTERS {
        for (unsigned lane = 0; lane < 32; ++lane) {
          if (!(present >> lane & 1)) continue;
          auto* me = static_cast<Shuffled<T>*>(lanes[lane]);
          if (!(present >> me->source & 1))
            fail("shuffle: lane " + std::to_string(lane) + " reads lane " + std::to_string(me->source) +
                     ", which does not take part",
                 at);
          me->out = static_cast<Shuffled<T>*>(lanes[me->source])->in;
        }
      },
      false, operation, site);
  return mine.out;
}

// All 32 lanes' values in every lane.
template <typename T>
struct Gathered {
  T in, out[32];
};
template <typename T>
CONVSCOPE_UNWATCHED void gather(T value, T (&out)[32], const char* operation, const CallSite& site) {
  Gathered<T> mine{value, {}};
  join_warp(
      ~0u, &mine,
      [](void* const* lanes, unsigned present, const CallSite& at) CONVSCOPE_OF_REGISTERS {
        if (present != ~0u) fail("a whole warp is needed", at);
        for (int to = 0; to < 32; ++to)
          for (int from = 0; from < 32; ++from)
            static_cast<Gathered<T>*>(lanes[to])->out[from] = static_cast<Gathered<T>*>(lanes[from])->in;
      },
      false, operation, site);
  for (int lane = 0; lane < 32; ++lane) out[lane] = mine.out[lane];
}

// The lanes whose value is true.
unsigned ballot(unsigned mask, bool value, const char* operation, const CallSite& site);

}  // namespace convscope::emulated::executor

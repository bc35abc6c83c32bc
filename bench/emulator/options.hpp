// In which order the emulator runs what a GPU would run at once.
#pragma once

namespace convscope {

// forward and reverse: threads by index, blocks too. random: shuffled by the seed at every barrier and warp
// collective, and threads that wait let others overtake.
enum class EmulatorOrder { forward, reverse, random };

struct EmulatorOptions {
  EmulatorOrder order = EmulatorOrder::forward;
  unsigned seed = 1;
};

}  // namespace convscope

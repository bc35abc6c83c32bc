// Algorithms that misbehave, each in one way, for the tests of isolation: what they do to the process must
// become a record. In the test program convscope_faulty only.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

// faulty.<how>.<when>.cpu: how is segfault, loop, memory, throw, lost (its device), abort, exit, kill (by
// SIGKILL), linger (closes its pipes and hangs) or infinity (its results); when is the stage it happens in:
// plan, verify or measure. Until then its results are right. And two that plan for long and show life every
// tenth of a second: faulty.patient.plan.cpu for four seconds, faulty.restless.plan.cpu for ever. And
// faulty.boast.plan.cpu, which counts a million times the operations that it does, so that it beats every
// ceiling.
void add_faulty(Registry& registry);

}  // namespace convscope

// expand(): a suite and a registry become the list of groups to run. A group is one problem under one
// protocol; its candidates are measured side by side. shard(): a part of that list for one of several
// machines. GroupTask: a group and its protocol, complete, so that another process or, with --resume, a later
// run can carry it out. Plain data and its JSON; run_group carries it out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/record/result.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {

// `common.algorithm` is empty. Lists every algorithm that matches the globs on the group's device, those that
// will refuse included: a refusal is a record.
struct Group {
  CaseKey common;
  std::vector<std::string> algorithms;
};

// One line that is the same for the same candidate in every run: resume and compare match on it. Network and
// layer stand in quotes; the seed and the layer's count are not in it; a device goes by name(DeviceId). As in
//   "alexnet" "conv2" forward fp32 nchw n=16 ... groups=1 direct.cpu cpu threads=2 cache=cold cap=256MiB
std::string candidate_key(const CaseKey& key);

// Those that the suite names, or the first present one of each kind except the emulator, whose time means
// nothing. Throws UsageError where one is missing.
std::vector<DeviceInfo> selected_devices(const Suite& suite, const DeviceList& devices);

// In config order: layer, pass, device, then batch, math, layout, epilogue, threads, cache, cap. Threads are
// resolved: 0 becomes the device's cores; other devices than the CPU have 1. The devices are
// selected_devices(). Throws UsageError when a glob matches no algorithm, a device is missing, a layer's
// tensors do not fit the device's memory, there are fewer cores than threads, or nothing is left to run.
std::vector<Group> expand(const Suite& suite, const Registry& registry, const DeviceList& devices);

// The `index`th of `count` parts, counted from 1, in the order of `groups`. The parts are disjoint, together
// they are `groups`, and their nominal operations times candidates are about equal. The same input gives the
// same parts on every machine. Throws UsageError unless 1 <= index <= count.
std::vector<Group> shard(const std::vector<Group>& groups, int64_t index, int64_t count);

// How the candidates of a group are measured; cache state, seed and workspace cap are in the group's key.
struct Protocol {
  SamplingRule sampling;
  bool measure = true;  // false: correctness only, records end as verified_only
  bool blocker = true;  // of a GPU's queue: see bench/device/cuda/cuda.hpp
};

struct GroupTask {
  Group group;
  Protocol protocol;
  // Of candidates that passed verification in a process that another candidate ended since: not verified
  // again before timing.
  std::vector<ResultRecord> verified{};
};

// The group's key with `algorithm` in it: the key of that candidate's record.
CaseKey candidate_of(const Group& group, const std::string& algorithm);

nlohmann::ordered_json to_json(const GroupTask& task);
GroupTask task_from_json(const nlohmann::ordered_json& json);  // throws UsageError on a foreign shape

}  // namespace convscope

// Which machine it was: a class of machines that are alike in what decides their speed, and a unit of it. The
// name of a device says too little: two generations of processors are both "AMD EPYC" in a virtual machine.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convscope {

// What decides the speed, by name; the order counts.
using MachineFacts = std::vector<std::pair<std::string, std::string>>;

// `label`, a dash and eight hexadecimal digits of a hash of the facts: equal facts give equal classes.
std::string machine_class(std::string_view label, const MachineFacts& facts);

// Twelve hexadecimal digits that tell units apart and do not give `secret` away (a GPU's UUID, a host's
// secret); "" for an empty one.
std::string machine_unit(std::string_view secret);

// What tells this host from others and is the same after a boot, from the files below `root`:
// /etc/machine-id, which is confidential; in a container, where that is the image's and every host that runs
// it has the same, the UUID that the firmware gives the machine, which only root may read. "" where there is
// neither. Copies of one virtual machine have one machine id.
std::string host_secret(const std::string& root);

// The vendor, family, model, stepping and microcode of the processor (of an ARM processor its implementer,
// variant, part and revision), its caches, cores and hyper-threads, and whether there is a hypervisor, from
// /proc and /sys below `root`. `cores` are those that this process may use.
MachineFacts processor_facts(const std::string& root, const std::vector<int>& cores);

// "amd-f25m17s1" of these facts; "cpu" where the processor does not say what it is.
std::string processor_label(const MachineFacts& facts);

}  // namespace convscope

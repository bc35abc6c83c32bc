// Shared by the interpreter's tests: builds a kernel from a few lines of PTX, its global memory and a launch.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/ptx/module.hpp"
#include "bench/ptx/run.hpp"

namespace convscope::ptx {

// "ADDRESS" parameters of 64 bits %p0, %p1, ... and a body in which their values are %rd0, %rd1, ..., beside
// registers %x0..., %r0..., %f0..., %d0..., %q0..., %h0... of 64 and 32 bits, f32, f64, predicates and 16
// bits.
inline std::string kernel_text(const std::string& body, int parameters, const std::string& outside = "") {
  std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n" + outside + "\n.visible .entry k(";
  for (int n = 0; n < parameters; ++n)
    text += std::string(n ? ", " : "") + ".param .u64 p" + std::to_string(n);
  text +=
      ")\n{\n.reg .b64 %rd<16>;\n.reg .b64 %x<64>;\n.reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .f64 %d<16>;\n"
      ".reg .pred %q<16>;\n.reg .b16 %h<16>;\n";
  for (int n = 0; n < parameters; ++n)
    text += "ld.param.u64 %rd" + std::to_string(n) + ", [p" + std::to_string(n) + "];\n";
  return text + body + "\nret;\n}\n";
}

// Runs kernels on vectors: the n-th parameter is the address of the n-th one.
class Machine : public ::testing::Test {
 protected:
  template <class T>
  void add(std::vector<T>& data) {
    const u64 begin = reinterpret_cast<u64>(data.data());
    add_address(begin);
    ranges_.push_back({begin, begin + data.size() * sizeof(T)});
  }
  void add_address(u64 value) {
    const size_t at = launch_.parameters.size();
    launch_.parameters.resize(at + 8);
    std::memcpy(launch_.parameters.data() + at, &value, 8);
  }

  Statistics run_kernel(const std::string& body, const std::string& outside = "") {
    module_ =
        std::make_unique<Module>(kernel_text(body, static_cast<int>(launch_.parameters.size() / 8), outside));
    launch_.kernel = module_->kernel("k");
    launch_.allocation = [this](u64 address) {
      for (const Range& r : ranges_)
        if (address >= r.begin && address < r.end) return r;
      return Range{};
    };
    options_.warn = [this](const Warning& w) { warnings_.push_back(w.what); };
    return run(launch_, options_);
  }

  // The message of the fault; "" where there is none.
  std::string fault_of(const std::string& body, const std::string& outside = "") {
    try {
      run_kernel(body, outside);
    } catch (const Fault& fault) {
      return fault.what();
    }
    return "";
  }

  // The results of a body that leaves thread t's result in %r0.
  std::vector<u32> results(const std::string& body, const std::string& outside = "") {
    launch_.parameters.clear();
    ranges_.clear();
    std::vector<u32> out(launch_.block.x, 0xdeadbeef);
    add(out);
    run_kernel(body +
                   "\nmov.u32 %r63, %tid.x;\nmul.wide.u32 %x63, %r63, 4;\nadd.s64 %x63, %rd0, %x63;\n"
                   "st.global.u32 [%x63], %r0;\n",
               outside);
    return out;
  }
  u32 result(const std::string& body) { return results(body)[0]; }

  Launch launch_;
  Options options_;
  std::vector<std::string> warnings_;
  std::vector<Range> ranges_;
  std::unique_ptr<Module> module_;
};

}  // namespace convscope::ptx

// library.hpp on top of oneDNN: the version, and the support question put to the library.
#include "algorithms/onednn/library.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include "algorithms/onednn/backend/descriptor.hpp"
#include "algorithms/onednn/backend/plan.hpp"

namespace convscope::onednn {
namespace {

std::string number() {
  const dnnl_version_t& v = *dnnl_version();
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

std::string runtime() {
  switch (dnnl_version()->cpu_runtime) {
    case DNNL_RUNTIME_OMP:
      return "OpenMP";
    case DNNL_RUNTIME_TBB:
      return "TBB";
    case DNNL_RUNTIME_SEQ:
      return "sequential";
    default:
      return "other threading";
  }
}

std::string words(const dnnl::error& error) {
  return "oneDNN " + number() + ": " + error.message + " (" + dnnl_status2str(error.status) + ")";
}

std::string words(Method method, const NoImplementation& refusal) {
  const std::string wanted = method == Method::gemm     ? "GEMM"
                             : method == Method::direct ? "direct"
                                                        : "Winograd";
  return "oneDNN " + number() + " has no " + wanted + " implementation of this problem; it offers " +
         refusal.offered;
}

// oneDNN 2.6.3 crashes while hashing for its primitive cache; without a cache plans are also independent of
// each other and their build time means something.
dnnl::engine open_engine() {
  dnnl::set_primitive_cache_capacity(0);
  return dnnl::engine(dnnl::engine::kind::cpu, 0);
}

}  // namespace

std::string version() {
  return number() + " " + runtime();
}

Support supports(Method method, const ConvProblem& problem) {
  try {
    const dnnl::engine engine = open_engine();
    choose(method, problem, engine);
    return Support::yes();
  } catch (const dnnl::error& error) {
    return Support::no(Reason::library_refused, words(error));
  } catch (const NoImplementation& refusal) {
    return Support::no(Reason::library_refused, words(method, refusal));
  }
}

std::unique_ptr<Plan> make_plan(Method method, const ConvProblem& problem) {
  try {
    const dnnl::engine engine = open_engine();
    const Choice choice = choose(method, problem, engine);
    return std::make_unique<ConvolutionPlan>(engine, problem, method, choice.implementation);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw std::runtime_error(words(error));
  } catch (const NoImplementation& refusal) {
    throw std::runtime_error(words(method, refusal));
  }
}

}  // namespace convscope::onednn

// Errors of the runtime, with names and texts for those that the program tells apart.
#include <atomic>
#include <map>
#include <string>

#include "bench/standin/configuration.hpp"
#include "bench/standin/error_list.hpp"
#include "bench/standin/errors.hpp"

namespace convscope::standin {
namespace {

std::atomic<cudaError_t> lost{cudaSuccess};
thread_local cudaError_t last = cudaSuccess;

struct Words {
  const char *name, *text;
};

const std::map<int, Words>& known_errors() {
#define CONVSCOPE_ENTRY(name, number, words) {number, {#name, words}},
  static const std::map<int, Words> errors{CONVSCOPE_CUDA_ERRORS(CONVSCOPE_ENTRY)};
#undef CONVSCOPE_ENTRY
  return errors;
}

#define CONVSCOPE_CHECK(name, number, words) static_assert(name == number);
CONVSCOPE_CUDA_ERRORS(CONVSCOPE_CHECK)
#undef CONVSCOPE_CHECK

const char* words_of(cudaError_t error, const char* Words::*which) {
  const auto known = known_errors().find(error);
  if (known != known_errors().end()) return known->second.*which;
  static thread_local std::string text;
  text = (which == &Words::name ? "cudaError" : "error ") + std::to_string(error);
  return text.c_str();
}

}  // namespace

cudaError_t result(cudaError_t error, const char* function) {
  if (error == cudaSuccess) error = scripted_call(function);
  if (is_lost()) error = lost;
  if (error != cudaSuccess && error != cudaErrorNotReady) last = error;
  return error;
}

void lose_device(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  lost.compare_exchange_strong(none, error);
}

bool is_lost() {
  return lost != cudaSuccess;
}

}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = is_lost() ? lost.load() : last;
  last = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return is_lost() ? lost.load() : last;
}

const char* cudaGetErrorString(cudaError_t error) {
  return words_of(error, &Words::text);
}

const char* cudaGetErrorName(cudaError_t error) {
  return words_of(error, &Words::name);
}

}  // extern "C"

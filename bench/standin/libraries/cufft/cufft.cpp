// The functions of cuFFT that the program opens: batched transforms of dense real images of two dimensions
// and back, by sums of the definition in f64, a dimension at a time. Arguments are checked as cuFFT's
// reference says.
#include <cufft.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <numbers>
#include <vector>

#include "bench/standin/libraries/runtime.hpp"
#include "bench/standin/libraries/script.hpp"

namespace convscope::standin {
namespace {

using Complex = std::complex<double>;
using Single = std::complex<float>;

struct FftPlan {
  bool allocates = true;  // its work area itself, which the stand-in cannot; the caller says otherwise
  bool is_made = false;
  cufftType type = CUFFT_R2C;
  int64_t rows = 1, columns = 1, batch = 1;
  size_t work_bytes = 0;
  void* work_area = nullptr;
  cudaStream_t stream = nullptr;

  int64_t bins() const { return columns / 2 + 1; }
};

std::mutex plans_mutex;
std::map<cufftHandle, FftPlan> plans;

FftPlan* find_plan(cufftHandle handle) {
  const std::lock_guard lock(plans_mutex);
  const auto found = plans.find(handle);
  return found == plans.end() ? nullptr : &found->second;
}

std::vector<Complex> roots(int64_t length, int sign) {
  std::vector<Complex> all;
  for (int64_t i = 0; i < length; ++i)
    all.push_back(
        std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length)));
  return all;
}

// Transforms `length` values that lie `step` apart.
void transform(Complex* values, int64_t length, int64_t step, const std::vector<Complex>& root) {
  std::vector<Complex> sums(static_cast<size_t>(length));
  for (int64_t k = 0; k < length; ++k)
    for (int64_t i = 0; i < length; ++i)
      sums[static_cast<size_t>(k)] += values[i * step] * root[static_cast<size_t>(i * k % length)];
  for (int64_t k = 0; k < length; ++k) values[k * step] = sums[static_cast<size_t>(k)];
}

void transform_image(std::vector<Complex>& image, int64_t rows, int64_t columns, int sign) {
  const auto across = roots(columns, sign), down = roots(rows, sign);
  for (int64_t row = 0; row < rows; ++row) transform(image.data() + row * columns, columns, 1, across);
  for (int64_t column = 0; column < columns; ++column) transform(image.data() + column, rows, columns, down);
}

void real_to_complex(const FftPlan& plan, const float* from, Single* to) {
  std::vector<Complex> image(static_cast<size_t>(plan.rows * plan.columns));
  for (int64_t n = 0; n < plan.batch; ++n) {
    for (size_t i = 0; i < image.size(); ++i) image[i] = *from++;
    transform_image(image, plan.rows, plan.columns, -1);
    for (int64_t row = 0; row < plan.rows; ++row)
      for (int64_t bin = 0; bin < plan.bins(); ++bin)
        *to++ = Single(image[static_cast<size_t>(row * plan.columns + bin)]);
  }
}

// Destroys the spectra, as the library does, out of place too.
void complex_to_real(const FftPlan& plan, Single* from, float* to) {
  std::vector<Complex> image(static_cast<size_t>(plan.rows * plan.columns));
  for (int64_t n = 0; n < plan.batch; ++n) {
    const Single* spectrum = from + n * plan.rows * plan.bins();
    for (int64_t row = 0; row < plan.rows; ++row)
      for (int64_t column = 0; column < plan.columns; ++column) {
        const bool is_there = column < plan.bins();
        const int64_t r = is_there ? row : (plan.rows - row) % plan.rows;
        const int64_t bin = is_there ? column : plan.columns - column;
        const Complex value = spectrum[r * plan.bins() + bin];
        image[static_cast<size_t>(row * plan.columns + column)] = is_there ? value : std::conj(value);
      }
    transform_image(image, plan.rows, plan.columns, 1);
    for (const Complex& value : image) *to++ = static_cast<float>(value.real());
  }
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t i = 0; i < plan.batch * plan.rows * plan.bins(); ++i) from[i] = {nan, nan};
}

cufftResult execute(const char* function, cufftHandle handle, cufftType type, void* from, void* to,
                    void (*work)(const FftPlan&, void*, void*)) {
  if (const Fault fault = enter(function)) return static_cast<cufftResult>(fault.status);
  const FftPlan* plan = find_plan(handle);
  if (plan == nullptr || !plan->is_made || plan->type != type) return CUFFT_INVALID_PLAN;
  if (from == nullptr || to == nullptr) return CUFFT_INVALID_VALUE;
  // Real data is read in pairs.
  if (reinterpret_cast<uintptr_t>(from) % sizeof(cufftComplex) != 0 ||
      reinterpret_cast<uintptr_t>(to) % sizeof(cufftComplex) != 0)
    return CUFFT_INVALID_VALUE;
  if (plan->work_bytes > 0 && plan->work_area == nullptr) return CUFFT_NO_WORKSPACE;
  load_kernels(plan);
  const cudaError_t code = enqueue(plan->stream, [=, copy = *plan] {
    scribble(copy.work_area, copy.work_bytes);
    work(copy, from, to);
  });
  return code == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  if (const Fault fault = enter("cufftCreate")) return static_cast<cufftResult>(fault.status);
  if (handle == nullptr) return CUFFT_INVALID_VALUE;
  if (device_error() != cudaSuccess) return CUFFT_SETUP_FAILED;
  static cufftHandle next = 1;
  const std::lock_guard lock(plans_mutex);
  *handle = next++;
  plans[*handle];
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle handle) {
  const std::lock_guard lock(plans_mutex);
  return plans.erase(handle) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftGetProperty(libraryPropertyType part, int* value) {
  if (value == nullptr || part < MAJOR_VERSION || part > PATCH_LEVEL) return CUFFT_INVALID_VALUE;
  *value = version_part("cufft", part, {CUFFT_VER_MAJOR, CUFFT_VER_MINOR, CUFFT_VER_PATCH});
  return CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  if (const Fault fault = enter("cufftSetStream")) return static_cast<cufftResult>(fault.status);
  FftPlan* plan = find_plan(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  plan->stream = stream;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocates) {
  FftPlan* plan = find_plan(handle);
  if (plan == nullptr || plan->is_made) return CUFFT_INVALID_PLAN;
  plan->allocates = allocates != 0;
  return CUFFT_SUCCESS;
}
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* sizes, long long* input_embed,
                                long long, long long, long long* output_embed, long long, long long,
                                cufftType type, long long batch, size_t* work_bytes) {
  if (const Fault fault = enter("cufftMakePlanMany64")) return static_cast<cufftResult>(fault.status);
  FftPlan* plan = find_plan(handle);
  if (plan == nullptr || plan->is_made) return CUFFT_INVALID_PLAN;
  if (sizes == nullptr || work_bytes == nullptr) return CUFFT_INVALID_VALUE;
  if (plan->allocates || rank != 2 || input_embed != nullptr || output_embed != nullptr)
    return CUFFT_NOT_SUPPORTED;
  if (type != CUFFT_R2C && type != CUFFT_C2R) return CUFFT_INVALID_TYPE;
  if (sizes[0] < 1 || sizes[1] < 1 || batch < 1) return CUFFT_INVALID_SIZE;
  plan->is_made = true;
  plan->type = type;
  plan->rows = sizes[0];
  plan->columns = sizes[1];
  plan->batch = batch;
  *work_bytes = plan->work_bytes = sizeof(Single) * static_cast<size_t>(plan->rows * plan->bins() * batch);
  return CUFFT_SUCCESS;
}
cufftResult cufftSetWorkArea(cufftHandle handle, void* work_area) {
  if (const Fault fault = enter("cufftSetWorkArea")) return static_cast<cufftResult>(fault.status);
  FftPlan* plan = find_plan(handle);
  if (plan == nullptr || !plan->is_made) return CUFFT_INVALID_PLAN;
  plan->work_area = work_area;
  return CUFFT_SUCCESS;
}
cufftResult cufftExecR2C(cufftHandle handle, cufftReal* from, cufftComplex* to) {
  return execute("cufftExecR2C", handle, CUFFT_R2C, from, to, [](const FftPlan& plan, void* a, void* b) {
    real_to_complex(plan, static_cast<const float*>(a), static_cast<Single*>(b));
  });
}
cufftResult cufftExecC2R(cufftHandle handle, cufftComplex* from, cufftReal* to) {
  return execute("cufftExecC2R", handle, CUFFT_C2R, from, to, [](const FftPlan& plan, void* a, void* b) {
    complex_to_real(plan, static_cast<Single*>(a), static_cast<float*>(b));
  });
}

}  // extern "C"

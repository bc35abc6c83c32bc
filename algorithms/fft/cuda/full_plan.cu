// The plan of fft.full.cuda: pads planes, transforms them with cuFFT, transposes the spectra so that every
// bin is a matrix, multiplies with cuBLAS, and all the way back. One tile per plane, unlike tiled_plan.cu.
// Start at FullPlan::run.
#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>

#include "algorithms/fft/cuda/full_kernels.hpp"
#include "algorithms/fft/cuda/tiled_blocking.hpp"
#include "algorithms/fft/cuda/variants.hpp"
#include "bench/device/blas.hpp"
#include "bench/device/fft.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using Complex = std::complex<float>;

int64_t aligned(int64_t bytes) {
  return round_up(bytes, 256);
}

// The planes of one tensor, how they are padded, and where a chunk's spectra are in the workspace, bin by
// bin.
struct PaddedOperand {
  TensorPlanes shape;  // of a chunk
  PaddedPlane padded;
  std::unique_ptr<Fft> fft;
  int64_t spectra = 0;  // bytes from the start of the workspace
  int64_t planes() const { return int64_t{shape.outer} * shape.inner; }
};

class FullPlan final : public Plan {
 public:
  FullPlan(const ConvProblem& problem, Device& device, const PlanOptions& options);

  int64_t workspace_bytes() const override { return bytes_; }
  std::string implementation() const override {
    return "transforms of " + to_text(Extent2{size_.h, size_.w}) + ", " +
           convscope::fft::part_text(chunk_, p_.batch) + " images";
  }
  std::optional<OperationCount> operations() const override;
  bool has_prepare() const override { return p_.pass != Pass::backward_filter; }
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;
  // A complex term is two real ones; cuBLAS is taken to add them all one after the other.
  double longest_sum() const override {
    if (p_.pass == Pass::backward_filter) return static_cast<double>(2 * chunk_ + p_.batch / chunk_);
    const bool forward = p_.pass == Pass::forward;
    return static_cast<double>(2 * (forward ? p_.in_channels_per_group() : p_.out_channels_per_group()));
  }

 private:
  static float* tensor(const ConvArgs& args, Role role) { return static_cast<float*>(args.tensor(role)); }
  static float2* at(const ConvArgs& args, int64_t bytes) {
    return reinterpret_cast<float2*>(static_cast<unsigned char*>(args.workspace) + bytes);
  }
  PaddedOperand& operand(Role role) { return operands_[static_cast<size_t>(role)]; }

  // Three of each operand, of which cuFFT makes one or a few, and cuBLAS's.
  int64_t launches_of_a_chunk() const { return 9 + p_.groups; }
  // Operands for a chunk of so many images of the batch, and the places of everything in the workspace.
  void plan_chunk(int64_t images, Device& device);
  void transform(Role role, int64_t image, const ConvArgs& args, Queue& queue);
  void multiply(int64_t image, const ConvArgs& args, Queue& queue);
  void invert(Role role, int64_t image, const ConvArgs& args, Queue& queue);

  ConvProblem p_;
  convscope::fft::FullSize size_;
  std::unique_ptr<Blas> blas_;
  PaddedOperand operands_[3];
  int64_t chunk_ = 0, bytes_ = 0;
  int64_t dense_ = 0, by_plane_ = 0, scratch_ = 0;  // bytes from the start of the workspace
};

FullPlan::FullPlan(const ConvProblem& problem, Device& device, const PlanOptions& options)
    : p_(problem), size_(convscope::fft::full_size(problem)), blas_(make_blas(device)) {
  // Chunks are equal, so that one transform of each operand serves all. Where only more of them than a run
  // should have launches for would fit, the cap is exceeded.
  for (int64_t chunks = 1; chunks <= p_.batch; ++chunks) {
    if (p_.batch % chunks != 0) continue;
    if (chunk_ > 0 && chunks * launches_of_a_chunk() > convscope::fft::kMaxLaunches) break;
    plan_chunk(p_.batch / chunks, device);
    if (bytes_ <= options.workspace_cap) break;
  }
}

void FullPlan::plan_chunk(int64_t images, Device& device) {
  chunk_ = images;
  bytes_ = 0;
  const auto reserve = [&](int64_t bytes) {
    const int64_t start = bytes_;
    bytes_ += aligned(bytes);
    return start;
  };
  int64_t max_planes = 0, scratch = 0;
  for (const Role role : kRoles) {
    const TensorShape shape = p_.shape(role);
    PaddedOperand& operand = this->operand(role);
    const int64_t outer = role == Role::filter ? shape.size[0] : images;
    operand.shape = {
        static_cast<int>(outer),         static_cast<int>(shape.size[1]), shape.stride[0], shape.stride[1],
        static_cast<int>(shape.size[2]), static_cast<int>(shape.size[3]), shape.stride[2], shape.stride[3]};
    const Extent2 first = role == Role::input ? p_.pad : Extent2{0, 0};
    operand.padded = {static_cast<int>(size_.h), static_cast<int>(size_.w), static_cast<int>(first.h),
                      static_cast<int>(first.w)};
    operand.fft = nullptr;
    operand.fft = make_fft({operand.padded.rows, operand.padded.columns, operand.planes()}, device);
    operand.spectra = reserve(operand.planes() * size_.bins() * int64_t{sizeof(Complex)});
    max_planes = std::max(max_planes, operand.planes());
    scratch = std::max(scratch, static_cast<int64_t>(operand.fft->workspace_bytes()));
  }
  dense_ = reserve(max_planes * size_.h * size_.w * int64_t{sizeof(float)});
  by_plane_ = reserve(max_planes * size_.bins() * int64_t{sizeof(Complex)});
  scratch_ = reserve(scratch);
}

// `image` is the first of the chunk; the filter has no chunks.
void FullPlan::transform(Role role, int64_t image, const ConvArgs& args, Queue& queue) {
  PaddedOperand& operand = this->operand(role);
  auto* dense = reinterpret_cast<float*>(at(args, dense_));
  const int64_t offset = role == Role::filter ? 0 : image * operand.shape.outer_stride;
  pad_planes(tensor(args, role) + offset, operand.shape, operand.padded, dense, queue);
  operand.fft->set_workspace(at(args, scratch_));
  operand.fft->forward(dense, reinterpret_cast<Complex*>(at(args, by_plane_)), queue);
  transpose_spectra(at(args, by_plane_), operand.planes(), size_.bins(), at(args, operand.spectra), queue);
}

void FullPlan::invert(Role role, int64_t image, const ConvArgs& args, Queue& queue) {
  PaddedOperand& operand = this->operand(role);
  auto* dense = reinterpret_cast<float*>(at(args, dense_));
  transpose_spectra(at(args, operand.spectra), size_.bins(), operand.planes(), at(args, by_plane_), queue);
  operand.fft->set_workspace(at(args, scratch_));
  operand.fft->inverse(reinterpret_cast<Complex*>(at(args, by_plane_)), dense, queue);
  const int64_t offset = role == Role::filter ? 0 : image * operand.shape.outer_stride;
  crop_planes(dense, operand.padded, 1.0f / static_cast<float>(size_.h * size_.w), operand.shape,
              tensor(args, role) + offset, queue);
}

// Of every bin, with images as rows: output = input * filter^H, input = output * filter, and
// filter = output^H * input, to which each chunk adds.
void FullPlan::multiply(int64_t image, const ConvArgs& args, Queue& queue) {
  const auto in = static_cast<int>(p_.in_channels_per_group()),
             out = static_cast<int>(p_.out_channels_per_group());
  for (int64_t group = 0; group < p_.groups; ++group) {
    const auto matrix = [&](Role role, MatrixOp op) {
      const PaddedOperand& operand = this->operand(role);
      const int64_t first = role == Role::input    ? group * in
                            : role == Role::output ? group * out
                                                   : group * out * operand.shape.inner;
      return Matrix<Complex>{reinterpret_cast<Complex*>(at(args, operand.spectra)) + first,
                             operand.shape.inner, operand.planes(), op};
    };
    const auto read = [&](Role role, MatrixOp op) {
      const Matrix<Complex> m = matrix(role, op);
      return Matrix<const Complex>{m.data, m.stride, m.batch_stride, m.op};
    };
    Product<Complex> product;
    product.batch = static_cast<int>(size_.bins());
    product.rows = product.depth = static_cast<int>(chunk_);
    product.beta = 0;
    switch (p_.pass) {
      case Pass::forward:
        product.columns = out;
        product.depth = in;
        product.a = read(Role::input, MatrixOp::none);
        product.b = read(Role::filter, MatrixOp::conjugate_transpose);
        break;
      case Pass::backward_data:
        product.columns = in;
        product.depth = out;
        product.a = read(Role::output, MatrixOp::none);
        product.b = read(Role::filter, MatrixOp::none);
        break;
      case Pass::backward_filter:
        product.rows = out;
        product.columns = in;
        product.a = read(Role::output, MatrixOp::conjugate_transpose);
        product.b = read(Role::input, MatrixOp::none);
        product.beta = image > 0 ? 1 : 0;
        break;
    }
    product.c = matrix(written_role(p_.pass), MatrixOp::none);
    blas_->multiply(product, queue);
  }
}

// The usual count of a real transform, 2.5 N log2 N: what cuFFT executes is not known.
std::optional<OperationCount> FullPlan::operations() const {
  const auto samples = static_cast<double>(size_.h * size_.w), bins = static_cast<double>(size_.bins());
  const auto planes = static_cast<double>(p_.batch * (p_.in_channels + p_.out_channels) +
                                          p_.out_channels * p_.in_channels_per_group());
  OperationCount count;
  count.product_flops = 8.0 * bins * static_cast<double>(p_.batch) * static_cast<double>(p_.out_channels) *
                        static_cast<double>(p_.in_channels_per_group());
  count.transform_flops = planes * 2.5 * samples * std::log2(samples);
  // Padded planes written and read; spectra written and read by plane, and again by bin.
  count.bytes = static_cast<double>(p_.total_bytes()) + planes * (2 * 4 * samples + 4 * 8 * bins);
  return count;
}

void FullPlan::prepare(const ConvArgs& args, Queue& queue) {
  transform(Role::filter, 0, args, queue);
}

void FullPlan::run(const ConvArgs& args, Queue& queue) {
  const Role written = written_role(p_.pass);
  for (int64_t image = 0; image < p_.batch; image += chunk_) {
    queue.phase(Phase::transform);
    for (const Role role : {Role::input, Role::output})
      if (role != written) transform(role, image, args, queue);
    queue.phase(Phase::product);
    multiply(image, args, queue);
    if (written == Role::filter && image + chunk_ < p_.batch) continue;
    queue.phase(Phase::inverse);
    invert(written, image, args, queue);
  }
  queue.end_phase();
}

}  // namespace

std::unique_ptr<Plan> make_full_fft_plan(const ConvProblem& problem, Device& device,
                                         const PlanOptions& options) {
  return std::make_unique<FullPlan>(problem, device, options);
}

}  // namespace convscope::CONVSCOPE_KERNELS

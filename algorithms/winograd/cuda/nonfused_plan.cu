// The plans of the non-fused CUDA variants: transform, batched product and inverse of one chunk of images
// after the other. Only host code that launches plane_transforms.cu and plane_gemm.cu; what lies where is in
// plane_product.hpp.
#include <algorithm>

#include "algorithms/winograd/cuda/plane_kernels.hpp"
#include "algorithms/winograd/cuda/plane_product.hpp"
#include "algorithms/winograd/cuda/variants.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace winograd;

// The base of both plans: the planes and where they lie in the workspace, filters first.
class ChunkedPlan : public Plan {
 public:
  ChunkedPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options)
      : geometry_(geometry),
        device_(device),
        chunking_(chunking(geometry, device, options)),
        planes_(pass_planes(geometry, chunking_.images)),
        input_at_(planes_.filters.floats * chunking_.splits),
        output_at_(input_at_ + planes_.input.floats) {}

  int64_t workspace_bytes() const override {
    return workspace_floats(geometry_, chunking_) * static_cast<int64_t>(sizeof(float));
  }
  std::string implementation() const override {
    std::string text = geometry_.describe() + ", " + std::to_string(chunking_.images) + " images a chunk";
    if (chunking_.splits > 1) text += ", " + std::to_string(chunking_.splits) + " splits";
    return text;
  }
  double longest_sum() const override { return winograd::longest_sum(geometry_, chunking_); }

 protected:
  struct Chunk {
    int64_t first, images;
    TileClasses classes;
  };
  template <typename F>
  void for_each_chunk(const F& run) const {
    for (int64_t first = 0; first < geometry_.problem.batch; first += chunking_.images) {
      const int64_t images = std::min(chunking_.images, geometry_.problem.batch - first);
      run(Chunk{first, images, tile_classes(geometry_.h, geometry_.w, images)});
    }
  }
  TileTransform activation(const TensorView& view, const Chunk& chunk) const {
    const PlaneSet& set = &view == &geometry_.input_view ? planes_.input : planes_.output;
    return {activation_addressing(view, geometry_.problem.groups, chunk.images), chunk.classes, set.strides,
            geometry_.points_w(), set.lanes_contiguous};
  }
  TileTransform filters() const {
    const int64_t stored = geometry_.problem.groups * align_plane(geometry_.output_view.lanes());
    TileTransform what{filter_addressing(geometry_), filter_class(geometry_, stored), planes_.filters.strides,
                       geometry_.points_w(), planes_.filters.lanes_contiguous};
    what.splits = chunking_.splits;
    what.split = planes_.filters.floats;
    return what;
  }

  // The counts of the tensors and of the filters' planes.
  OperationCount count_filters() const {
    OperationCount count;
    count.bytes = static_cast<double>(geometry_.problem.total_bytes()) +
                  2.0 * sizeof(float) * static_cast<double>(planes_.filters.floats * chunking_.splits);
    return count;
  }
  static void count_product(const GemmArguments& product, OperationCount& count) {
    const GemmWork work = gemm_work(product);
    count.product_flops += 2 * work.multiply_adds;
    count.cached_bytes += work.staged_bytes;
  }
  // The bytes of the tiles' planes that a chunk writes and reads.
  double plane_bytes(const Chunk& chunk) const {
    double points = 0;
    for (int i = 0; i < chunk.classes.count; ++i) {
      const TileClass& cls = chunk.classes.at[i];
      points += static_cast<double>(int64_t{align_plane(cls.tiles)} * cls.h.alpha * cls.w.alpha);
    }
    const int64_t lanes =
        align_plane(geometry_.input_view.lanes()) + align_plane(geometry_.output_view.lanes());
    return 2.0 * sizeof(float) * points * static_cast<double>(geometry_.problem.groups * lanes);
  }

  const Geometry geometry_;
  const DeviceInfo device_;
  const Chunking chunking_;
  const PassPlanes planes_;
  const int64_t input_at_, output_at_;
};

class ChunkedConvolution final : public ChunkedPlan {
 public:
  using ChunkedPlan::ChunkedPlan;
  bool has_prepare() const override { return true; }
  void prepare(const ConvArgs& args, Queue& queue) override {
    queue.phase(Phase::prepare);
    transform_tiles(TileOperand::coefficients, filters(), static_cast<const float*>(args.filter),
                    static_cast<float*>(args.workspace), queue);
    queue.end_phase();
  }
  void run(const ConvArgs& args, Queue& queue) override {
    const bool forward = is_forward();
    float* const filter_planes = static_cast<float*>(args.workspace);
    float* const input_planes = filter_planes + input_at_;
    float* const output_planes = filter_planes + output_at_;
    const TensorView &read_view = this->read_view(), &written_view = this->written_view();
    const auto* const read = static_cast<const float*>(forward ? args.input : args.output);
    auto* const written = static_cast<float*>(forward ? args.output : args.input);
    float* const tiles = forward ? input_planes : output_planes;
    float* const products = forward ? output_planes : input_planes;
    for_each_chunk([&](const Chunk& chunk) {
      queue.phase(Phase::transform);
      transform_tiles(TileOperand::data, activation(read_view, chunk),
                      read + chunk.first * read_view.shape.stride[0], tiles, queue);
      queue.phase(Phase::product);
      GemmArguments product = plane_products(geometry_, planes_, chunk.classes, device_);
      product.a = filter_planes;
      product.b = tiles;
      product.c = products;
      multiply_planes(product, queue);
      queue.phase(Phase::inverse);
      invert_tiles(activation(written_view, chunk), products,
                   written + chunk.first * written_view.shape.stride[0], queue, geometry_.problem.epilogue,
                   args.bias);
    });
    queue.end_phase();
  }
  std::optional<OperationCount> operations() const override {
    OperationCount count = count_filters();
    count.transform_flops = transform_tiles_flops(TileOperand::coefficients, filters());
    for_each_chunk([&](const Chunk& chunk) {
      count.transform_flops += transform_tiles_flops(TileOperand::data, activation(read_view(), chunk)) +
                               invert_tiles_flops(activation(written_view(), chunk));
      count_product(plane_products(geometry_, planes_, chunk.classes, device_), count);
      count.bytes += plane_bytes(chunk);
    });
    return count;
  }

 private:
  bool is_forward() const { return geometry_.problem.pass == Pass::forward; }
  const TensorView& read_view() const { return is_forward() ? geometry_.input_view : geometry_.output_view; }
  const TensorView& written_view() const {
    return is_forward() ? geometry_.output_view : geometry_.input_view;
  }
};

class ChunkedFilterGradient final : public ChunkedPlan {
 public:
  using ChunkedPlan::ChunkedPlan;
  void run(const ConvArgs& args, Queue& queue) override {
    float* const gradient_planes = static_cast<float*>(args.workspace);
    float* const input_planes = gradient_planes + input_at_;
    float* const output_planes = gradient_planes + output_at_;
    const TensorView &input = geometry_.input_view, &output = geometry_.output_view;
    for_each_chunk([&](const Chunk& chunk) {
      queue.phase(Phase::transform);
      transform_tiles(TileOperand::data, activation(input, chunk),
                      static_cast<const float*>(args.input) + chunk.first * input.shape.stride[0],
                      input_planes, queue);
      transform_tiles(TileOperand::coefficients, activation(output, chunk),
                      static_cast<const float*>(args.output) + chunk.first * output.shape.stride[0],
                      output_planes, queue);
      queue.phase(Phase::product);
      GemmArguments product = split_products(chunk);
      product.a = product.transposed ? input_planes : output_planes;
      product.b = product.transposed ? output_planes : input_planes;
      product.c = gradient_planes;
      product.accumulate = chunk.first > 0;
      multiply_planes(product, queue);
    });
    queue.phase(Phase::inverse);
    invert_tiles(filters(), gradient_planes, static_cast<float*>(args.filter), queue);
    queue.end_phase();
  }
  std::optional<OperationCount> operations() const override {
    OperationCount count = count_filters();
    count.transform_flops = invert_tiles_flops(filters());
    for_each_chunk([&](const Chunk& chunk) {
      count.transform_flops +=
          transform_tiles_flops(TileOperand::data, activation(geometry_.input_view, chunk)) +
          transform_tiles_flops(TileOperand::coefficients, activation(geometry_.output_view, chunk));
      count_product(split_products(chunk), count);
      count.bytes += plane_bytes(chunk);
    });
    return count;
  }

 private:
  GemmArguments split_products(const Chunk& chunk) const {
    GemmArguments products = plane_products(geometry_, planes_, chunk.classes, device_);
    products.splits = chunking_.splits;
    products.split_depth = narrow(align_plane(ceil_div(products.split_depth, products.splits)));
    return products;
  }
};

}  // namespace

std::unique_ptr<Plan> make_nonfused_plan(const Geometry& geometry, const DeviceInfo& device,
                                         const PlanOptions& options) {
  if (geometry.problem.pass == Pass::backward_filter)
    return std::make_unique<ChunkedFilterGradient>(geometry, device, options);
  return std::make_unique<ChunkedConvolution>(geometry, device, options);
}

}  // namespace convscope::CONVSCOPE_KERNELS

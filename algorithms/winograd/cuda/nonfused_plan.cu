// The plans of the non-fused CUDA rows: transform, batched product, inverse, for one chunk of images after
// the other. Only host code that launches plane_transforms.cu and plane_gemm.cu; what lies where is in
// plane_product.hpp.
#include <algorithm>

#include "algorithms/winograd/cuda/plane_kernels.hpp"
#include "algorithms/winograd/cuda/plane_product.hpp"
#include "algorithms/winograd/cuda/variants.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace winograd;

// What both plans know: the planes and where they lie in the workspace, filters first.
class ChunkedPlan : public Plan {
 public:
  ChunkedPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options)
      : geometry_(geometry),
        chunking_(chunking(geometry, device, options)),
        planes_(pass_planes(geometry, chunking_.images)),
        image_at_(planes_.filters.floats * chunking_.splits),
        signal_at_(image_at_ + planes_.image.floats) {}

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
    const PlaneSet& set = &view == &geometry_.image ? planes_.image : planes_.signal;
    return {activation_map(view, geometry_.problem.groups, chunk.images), chunk.classes, set.strides,
            geometry_.points_w(), set.lanes_contiguous};
  }
  TileTransform filters() const {
    const int64_t stored = geometry_.problem.groups * align_plane(geometry_.signal.lanes());
    TileTransform what{filter_map(geometry_), filter_class(geometry_, stored), planes_.filters.strides,
                       geometry_.points_w(), planes_.filters.lanes_contiguous};
    what.splits = chunking_.splits;
    what.split = planes_.filters.floats;
    return what;
  }

  const Geometry geometry_;
  const Chunking chunking_;
  const PassPlanes planes_;
  const int64_t image_at_, signal_at_;
};

class ConvolutionPlan final : public ChunkedPlan {
 public:
  using ChunkedPlan::ChunkedPlan;
  bool has_prepare() const override { return true; }
  void prepare(const ConvArgs& args, Queue& queue) override {
    queue.phase(Phase::prepare);
    transform_tiles(TileOperand::kernel, filters(), static_cast<const float*>(args.filter),
                    static_cast<float*>(args.workspace), queue);
    queue.end_phase();
  }
  void run(const ConvArgs& args, Queue& queue) override {
    const bool forward = geometry_.problem.pass == Pass::forward;
    float* const filter_planes = static_cast<float*>(args.workspace);
    float* const image_planes = filter_planes + image_at_;
    float* const signal_planes = filter_planes + signal_at_;
    const TensorView& read_view = forward ? geometry_.image : geometry_.signal;
    const TensorView& written_view = forward ? geometry_.signal : geometry_.image;
    const auto* const read = static_cast<const float*>(forward ? args.input : args.output);
    auto* const written = static_cast<float*>(forward ? args.output : args.input);
    float* const tiles = forward ? image_planes : signal_planes;
    float* const products = forward ? signal_planes : image_planes;
    for_each_chunk([&](const Chunk& chunk) {
      queue.phase(Phase::transform);
      transform_tiles(TileOperand::data, activation(read_view, chunk),
                      read + chunk.first * read_view.shape.stride[0], tiles, queue);
      queue.phase(Phase::product);
      GemmArguments product = plane_products(geometry_, planes_, chunk.classes);
      product.a = filter_planes;
      product.b = tiles;
      product.c = products;
      multiply_planes(product, queue);
      queue.phase(Phase::inverse);
      invert_tiles(activation(written_view, chunk), products,
                   written + chunk.first * written_view.shape.stride[0], queue);
    });
    queue.end_phase();
  }
};

class FilterGradientPlan final : public ChunkedPlan {
 public:
  using ChunkedPlan::ChunkedPlan;
  void run(const ConvArgs& args, Queue& queue) override {
    float* const gradient_planes = static_cast<float*>(args.workspace);
    float* const image_planes = gradient_planes + image_at_;
    float* const signal_planes = gradient_planes + signal_at_;
    const TensorView &image = geometry_.image, &signal = geometry_.signal;
    for_each_chunk([&](const Chunk& chunk) {
      queue.phase(Phase::transform);
      transform_tiles(TileOperand::data, activation(image, chunk),
                      static_cast<const float*>(args.input) + chunk.first * image.shape.stride[0],
                      image_planes, queue);
      transform_tiles(TileOperand::kernel, activation(signal, chunk),
                      static_cast<const float*>(args.output) + chunk.first * signal.shape.stride[0],
                      signal_planes, queue);
      queue.phase(Phase::product);
      GemmArguments product = plane_products(geometry_, planes_, chunk.classes);
      product.a = product.transposed ? image_planes : signal_planes;
      product.b = product.transposed ? signal_planes : image_planes;
      product.c = gradient_planes;
      product.accumulate = chunk.first > 0;
      product.splits = chunking_.splits;
      product.split_depth = align_plane((product.split_depth + product.splits - 1) / product.splits);
      multiply_planes(product, queue);
    });
    queue.phase(Phase::inverse);
    invert_tiles(filters(), gradient_planes, static_cast<float*>(args.filter), queue);
    queue.end_phase();
  }
};

}  // namespace

std::unique_ptr<Plan> make_nonfused_plan(const Geometry& geometry, const DeviceInfo& device,
                                         const PlanOptions& options) {
  if (geometry.problem.pass == Pass::backward_filter)
    return std::make_unique<FilterGradientPlan>(geometry, device, options);
  return std::make_unique<ConvolutionPlan>(geometry, device, options);
}

}  // namespace convscope::CONVSCOPE_KERNELS

// The plan of fft16.cuda and fft32.cuda: geometry.cpp's planes as tables on the device, the workspace, and
// the order of launches. The kernels are in tiled_transforms.cu and spectral_product.cu. Start at
// TiledPlan::run.
#include <vector>

#include "algorithms/fft/cuda/tiled_blocking.hpp"
#include "algorithms/fft/cuda/tiled_kernels.hpp"
#include "algorithms/fft/cuda/variants.hpp"
#include "algorithms/fft/geometry.hpp"
#include "bench/device/buffer.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using convscope::fft::Axis;
using convscope::fft::Geometry;
using convscope::fft::Operand;

struct Block {
  int64_t first = 0, count = 0;
  bool operator==(const Block&) const = default;
};
constexpr Block block(int64_t first, int64_t step, int64_t whole) {
  return {first, step < whole - first ? step : whole - first};
}

float* tensor_of(const ConvArgs& args, Role role) {
  return static_cast<float*>(role == Role::input    ? args.input
                             : role == Role::filter ? args.filter
                                                    : args.output);
}

PlaneAxis plane_axis(const Axis& axis) {
  return {axis.stride, static_cast<int>(axis.extent), static_cast<int>(axis.step),
          static_cast<int>(axis.window)};
}

// An operand's planes with its tables in device memory.
class PlaneTable {
 public:
  PlaneTable(const Operand& operand, int64_t groups, Device& device)
      : role_(operand.role),
        origins_(device, (operand.lanes.size() + operand.others.size()) * sizeof(PlaneOrigin)) {
    std::vector<PlaneOrigin> origins;
    origins.reserve(operand.lanes.size() + operand.others.size());
    const auto append = [&](const std::vector<convscope::fft::Item>& items, int64_t shift_h,
                            int64_t shift_w) {
      for (const auto& item : items)
        origins.push_back({item.offset,
                           static_cast<int>(operand.h.advance * item.tile.h + item.phase.h + shift_h),
                           static_cast<int>(operand.w.advance * item.tile.w + item.phase.w + shift_w)});
    };
    append(operand.lanes, operand.h.shift, operand.w.shift);
    append(operand.others, 0, 0);
    origins_.upload(origins.data(), origins_.bytes());
    planes_.lanes = origins_.as<PlaneOrigin>();
    planes_.others = planes_.lanes + operand.lanes.size();
    planes_.groups = static_cast<int>(groups);
    planes_.h = plane_axis(operand.h);
    planes_.w = plane_axis(operand.w);
    planes_.group_stride = operand.group_offset;
    planes_.lanes_contiguous = operand.lanes.size() > 1 && operand.lanes[1].offset == 1;
  }

  Role role() const { return role_; }
  Planes part(Block lanes, Block others) const {
    Planes planes = planes_;
    planes.lanes += lanes.first;
    planes.others += others.first;
    planes.lane_count = static_cast<int>(lanes.count);
    planes.other_count = static_cast<int>(others.count);
    return planes;
  }

 private:
  Role role_;
  Buffer origins_;
  Planes planes_{};
};

class TiledPlan final : public Plan {
 public:
  TiledPlan(const ConvProblem& problem, int size, Device& device, const PlanOptions& options)
      : size_(size),
        groups_(problem.groups),
        geometry_(convscope::fft::make_geometry(problem, size)),
        blocking_(convscope::fft::choose_tiled_blocking(geometry_, tile_bins(size), problem.groups,
                                                        device.info().llc_bytes, options.workspace_cap)),
        a_(geometry_.a, problem.groups, device),
        b_(geometry_.b, problem.groups, device),
        y_(geometry_.y, problem.groups, device) {}

  int64_t workspace_bytes() const override {
    return convscope::fft::spectra_bytes(geometry_, tile_bins(size_), groups_, blocking_);
  }
  std::string implementation() const override {
    const auto part = [](int64_t count, int64_t whole) {
      return std::to_string(count) + (count == whole ? "" : " of " + std::to_string(whole));
    };
    const std::string side = std::to_string(size_);
    return "overlap-save " + side + "x" + side + ", 4-multiplication complex product, " +
           part(blocking_.tiles, tiles()) + " tiles, " + part(blocking_.columns, geometry_.columns()) +
           " columns";
  }
  bool has_prepare() const override { return blocking_.keep_filters; }
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;
  double longest_sum() const override;

 private:
  struct Areas {
    Spectra a, b, y;
  };
  int64_t tiles() const { return geometry_.depth_is_tiles ? geometry_.depth() : geometry_.rows(); }
  // Laid out for the largest block.
  Areas areas(void* workspace) const;
  void transform(const PlaneTable& table, Block lanes, Block others, const ConvArgs& args,
                 const Spectra& spectra, Queue& queue) const;
  void multiply(const Areas& areas, Block tiles, Block columns, Queue& queue) const;

  int size_;
  int64_t groups_;
  Geometry geometry_;
  convscope::fft::TiledBlocking blocking_;
  PlaneTable a_, b_, y_;
};

TiledPlan::Areas TiledPlan::areas(void* workspace) const {
  auto* next = static_cast<float2*>(workspace);
  const auto area = [&](int64_t others, int64_t lanes) {
    const int64_t row = convscope::fft::padded_row(lanes), bin = others * row, group = tile_bins(size_) * bin;
    const Spectra spectra{next, group, bin, row};
    next += groups_ * group;
    return spectra;
  };
  const bool filter_gradient = geometry_.depth_is_tiles;
  Areas areas{};
  areas.b = area(filter_gradient ? blocking_.tiles : geometry_.depth(), blocking_.columns);
  areas.a = area(blocking_.tiles, static_cast<int64_t>(geometry_.a.lanes.size()));
  areas.y = area(filter_gradient ? geometry_.rows() : blocking_.tiles, blocking_.columns);
  return areas;
}

void TiledPlan::transform(const PlaneTable& table, Block lanes, Block others, const ConvArgs& args,
                          const Spectra& spectra, Queue& queue) const {
  transform_planes(size_, tensor_of(args, table.role()), table.part(lanes, others), spectra, queue);
}

void TiledPlan::multiply(const Areas& areas, Block tiles, Block columns, Queue& queue) const {
  SpectralProduct product{};
  product.a = areas.a;
  product.b = areas.b;
  product.y = areas.y;
  product.a_by_depth = geometry_.depth_is_tiles;
  product.rows = static_cast<int>(product.a_by_depth ? geometry_.rows() : tiles.count);
  product.columns = static_cast<int>(columns.count);
  product.depth = static_cast<int>(product.a_by_depth ? tiles.count : geometry_.depth());
  product.bins = tile_bins(size_);
  product.groups = static_cast<int>(groups_);
  product.accumulate = product.a_by_depth && tiles.first > 0;
  multiply_spectra(product, queue);
}

// A complex term is two real ones, all in registers; backward-filter adds a sum for each block of tiles.
double TiledPlan::longest_sum() const {
  if (!geometry_.depth_is_tiles) return 2 * static_cast<double>(geometry_.depth());
  return static_cast<double>(2 * blocking_.tiles + convscope::ceil_div(tiles(), blocking_.tiles));
}

void TiledPlan::prepare(const ConvArgs& args, Queue& queue) {
  transform(b_, {0, geometry_.columns()}, {0, geometry_.depth()}, args, areas(args.workspace).b, queue);
}

void TiledPlan::run(const ConvArgs& args, Queue& queue) {
  const Areas areas = this->areas(args.workspace);
  const Block channels{0, static_cast<int64_t>(geometry_.a.lanes.size())};
  const Block depth{0, geometry_.depth()}, rows{0, geometry_.rows()};
  const bool filter_gradient = geometry_.depth_is_tiles;
  float* written = tensor_of(args, y_.role());
  const auto invert = [&](Block columns, Block others) {
    queue.phase(Phase::inverse);
    invert_planes(size_, areas.y, y_.part(columns, others), written, queue);
  };

  Block held;  // the tiles whose spectra A holds
  for (int64_t j = 0; j < geometry_.columns(); j += blocking_.columns) {
    const Block columns = block(j, blocking_.columns, geometry_.columns());
    queue.phase(Phase::transform);
    if (!filter_gradient && !blocking_.keep_filters) transform(b_, columns, depth, args, areas.b, queue);
    for (int64_t i = 0; i < tiles(); i += blocking_.tiles) {
      const Block some = block(i, blocking_.tiles, tiles());
      queue.phase(Phase::transform);
      if (held != some) transform(a_, channels, some, args, areas.a, queue);
      held = some;
      if (filter_gradient) transform(b_, columns, some, args, areas.b, queue);
      queue.phase(Phase::product);
      multiply(areas, some, columns, queue);
      if (!filter_gradient) invert(columns, some);
    }
    if (filter_gradient) invert(columns, rows);
  }
  queue.end_phase();
}

}  // namespace

std::unique_ptr<Plan> make_tiled_fft_plan(const ConvProblem& problem, int size, Device& device,
                                          const PlanOptions& options) {
  return std::make_unique<TiledPlan>(problem, size, device, options);
}

}  // namespace convscope::CONVSCOPE_KERNELS

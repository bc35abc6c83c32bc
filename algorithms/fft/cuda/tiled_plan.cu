// The plan of fft16.cuda and fft32.cuda: geometry.cpp's planes as tables on the device, the workspace, and
// the order of launches. The kernels are in tiled_transforms.cu and spectral_product.cu. Start at
// TiledPlan::run.
#include <optional>
#include <vector>

#include "algorithms/common/compute_capability.hpp"
#include "algorithms/fft/cuda/tiled_blocking.hpp"
#include "algorithms/fft/cuda/tiled_kernels.hpp"
#include "algorithms/fft/cuda/variants.hpp"
#include "algorithms/fft/geometry.hpp"
#include "bench/device/buffer.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using convscope::fft::Axis;
using convscope::fft::Block;
using convscope::fft::block;
using convscope::fft::Geometry;
using convscope::fft::Operand;

PlaneAxis plane_axis(const Axis& axis) {
  return {axis.stride, static_cast<int>(axis.extent), static_cast<int>(axis.step),
          static_cast<int>(axis.window)};
}

// An operand whose spectra are contiguous in what are its others.
Operand turned(const Operand& operand) {
  Operand other = operand;
  std::swap(other.lanes, other.others);
  return other;
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
                           static_cast<int>(operand.h.advance * item.tile.h + item.residue.h + shift_h),
                           static_cast<int>(operand.w.advance * item.tile.w + item.residue.w + shift_w)});
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
  TiledPlanes part(Block lanes, Block others) const {
    TiledPlanes planes = planes_;
    planes.lanes += lanes.first;
    planes.others += others.first;
    planes.lane_count = static_cast<int>(lanes.count);
    planes.other_count = static_cast<int>(others.count);
    return planes;
  }

 private:
  Role role_;
  Buffer origins_;
  TiledPlanes planes_{};
};

class TiledPlan final : public Plan {
 public:
  TiledPlan(const ConvProblem& problem, int size, Device& device, const PlanOptions& options)
      : problem_(problem),
        size_(size),
        by_tma_(runs_sm_90a(device.info())),
        geometry_(convscope::fft::make_geometry(problem, size)),
        blocking_(convscope::fft::choose_tiled_blocking(geometry_, tile_bins(size), problem.groups,
                                                        device.info().llc_bytes, options.workspace_cap)),
        tile_lanes_(by_tma_ && !geometry_.depth_is_tiles && problem.layout == Layout::nchw &&
                    blocking_.tiles % convscope::fft::kRowUnit == 0),
        a_(tile_lanes_ ? turned(geometry_.a) : geometry_.a, problem.groups, device),
        b_(geometry_.b, problem.groups, device),
        y_(geometry_.y, problem.groups, device) {}

  int64_t workspace_bytes() const override {
    return convscope::fft::spectra_bytes(geometry_, tile_bins(size_), problem_.groups, blocking_);
  }
  std::string implementation() const override {
    using convscope::fft::part_text;
    return "overlap-save " + to_text(Extent2{size_, size_}) + ", 3-multiplication complex product, " +
           part_text(blocking_.tiles, tiles()) + " tiles, " +
           part_text(blocking_.columns, geometry_.columns()) + " columns";
  }
  // Whole blocks of planes and of the product; a complex multiply-add is three real ones.
  std::optional<OperationCount> operations() const override;
  bool has_prepare() const override { return blocking_.keep_filters; }
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;
  double longest_sum() const override;

 private:
  struct Areas {
    ComplexSpectra a, b, y;
  };
  Block channels() const { return {0, static_cast<int64_t>(geometry_.a.lanes.size())}; }
  bool by_depth() const { return geometry_.depth_is_tiles || tile_lanes_; }
  bool multiplies_by_tma(int64_t rows) const { return by_tma_ && by_depth() && rows > 16; }
  int64_t tiles() const { return geometry_.depth_is_tiles ? geometry_.depth() : geometry_.rows(); }
  // Calls `to` for everything that run() does, in its order: transform_a(tiles), transform_b(columns,
  // others), multiply(tiles, columns), invert(columns, others).
  template <class To>
  void for_steps(To& to) const;
  // Laid out for the largest block.
  Areas areas(void* workspace) const;
  void transform(const PlaneTable& table, Block lanes, Block others, const ConvArgs& args,
                 const ComplexSpectra& spectra, Queue& queue) const;
  void multiply(const Areas& areas, Block tiles, Block columns, Queue& queue) const;

  ConvProblem problem_;
  int size_;
  bool by_tma_;
  Geometry geometry_;
  convscope::fft::TiledBlocking blocking_;
  // The spectra of A, [channel][tile] instead of [tile][channel], as TMA wants them. Not in NHWC, where
  // neighbouring channels are read together.
  bool tile_lanes_;
  PlaneTable a_, b_, y_;
};

TiledPlan::Areas TiledPlan::areas(void* workspace) const {
  auto* next = static_cast<float2*>(workspace);
  const auto area = [&](int64_t others, int64_t lanes) {
    const int64_t row = convscope::fft::padded_row(lanes), bin = others * row, group = tile_bins(size_) * bin;
    const ComplexSpectra spectra{next, group, bin, row};
    next += problem_.groups * group;
    return spectra;
  };
  const bool filter_gradient = geometry_.depth_is_tiles;
  Areas areas{};
  areas.b = area(filter_gradient ? blocking_.tiles : geometry_.depth(), blocking_.columns);
  areas.a = tile_lanes_ ? area(channels().count, blocking_.tiles) : area(blocking_.tiles, channels().count);
  areas.y = area(filter_gradient ? geometry_.rows() : blocking_.tiles, blocking_.columns);
  return areas;
}

void TiledPlan::transform(const PlaneTable& table, Block lanes, Block others, const ConvArgs& args,
                          const ComplexSpectra& spectra, Queue& queue) const {
  transform_planes(size_, static_cast<const float*>(args.tensor(table.role())), table.part(lanes, others),
                   spectra, queue);
}

void TiledPlan::multiply(const Areas& areas, Block tiles, Block columns, Queue& queue) const {
  SpectralProduct product{};
  product.a = areas.a;
  product.b = areas.b;
  product.y = areas.y;
  product.a_by_depth = by_depth();
  product.rows = static_cast<int>(geometry_.depth_is_tiles ? geometry_.rows() : tiles.count);
  product.columns = static_cast<int>(columns.count);
  product.depth = static_cast<int>(geometry_.depth_is_tiles ? tiles.count : geometry_.depth());
  product.bins = tile_bins(size_);
  product.groups = static_cast<int>(problem_.groups);
  product.accumulate = geometry_.depth_is_tiles && tiles.first > 0;
  product.by_tma = multiplies_by_tma(product.rows);
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

template <class To>
void TiledPlan::for_steps(To& to) const {
  const Block depth{0, geometry_.depth()}, rows{0, geometry_.rows()};
  const bool filter_gradient = geometry_.depth_is_tiles;
  Block held;  // the tiles whose spectra A holds
  for (int64_t j = 0; j < geometry_.columns(); j += blocking_.columns) {
    const Block columns = block(j, blocking_.columns, geometry_.columns());
    if (!filter_gradient && !blocking_.keep_filters) to.transform_b(columns, depth);
    for (int64_t i = 0; i < tiles(); i += blocking_.tiles) {
      const Block some = block(i, blocking_.tiles, tiles());
      if (held != some) to.transform_a(some);
      held = some;
      if (filter_gradient) to.transform_b(columns, some);
      to.multiply(some, columns);
      if (!filter_gradient) to.invert(columns, some);
    }
    if (filter_gradient) to.invert(columns, rows);
  }
}

void TiledPlan::run(const ConvArgs& args, Queue& queue) {
  struct Enqueue {
    const TiledPlan& plan;
    const ConvArgs& args;
    Queue& queue;
    const Areas areas = plan.areas(args.workspace);
    void transform_a(Block tiles) {
      queue.phase(Phase::transform);
      const Block channels = plan.channels();
      plan.transform(plan.a_, plan.tile_lanes_ ? tiles : channels, plan.tile_lanes_ ? channels : tiles, args,
                     areas.a, queue);
    }
    void transform_b(Block columns, Block others) {
      queue.phase(Phase::transform);
      plan.transform(plan.b_, columns, others, args, areas.b, queue);
    }
    void multiply(Block tiles, Block columns) {
      queue.phase(Phase::product);
      plan.multiply(areas, tiles, columns, queue);
    }
    void invert(Block columns, Block others) {
      queue.phase(Phase::inverse);
      invert_planes(plan.size_, areas.y, plan.y_.part(columns, others),
                    static_cast<float*>(args.tensor(plan.y_.role())), queue);
    }
  };
  Enqueue enqueue{*this, args, queue};
  for_steps(enqueue);
  queue.end_phase();
}

std::optional<OperationCount> TiledPlan::operations() const {
  struct Counter {
    const TiledPlan& plan;
    OperationCount group;
    void planes(Block lanes, Block others, bool inverse) {
      const int64_t computed = convscope::round_up(lanes.count, planes_per_block(plan.size_));
      group.transform_flops +=
          static_cast<double>(computed * others.count * plane_flops(plan.size_, inverse));
      // Each spectrum is written once and read once.
      group.bytes += 2 * 8.0 * static_cast<double>(tile_bins(plan.size_) * lanes.count * others.count);
    }
    void transform_a(Block tiles) {
      const Block channels = plan.channels();
      planes(plan.tile_lanes_ ? tiles : channels, plan.tile_lanes_ ? channels : tiles, false);
    }
    void transform_b(Block columns, Block others) { planes(columns, others, false); }
    void invert(Block columns, Block others) { planes(columns, others, true); }
    void multiply(Block tiles, Block columns) {
      const bool filter_gradient = plan.geometry_.depth_is_tiles;
      const int64_t rows = filter_gradient ? plan.geometry_.rows() : tiles.count;
      const int64_t depth = filter_gradient ? tiles.count : plan.geometry_.depth();
      const bool by_tma = plan.multiplies_by_tma(rows);
      const ProductShape shape = product_shape(rows, columns.count, by_tma);
      const auto of_bins = [&](int64_t of_step, int steps) {
        return static_cast<double>(tile_bins(plan.size_) * of_step * convscope::round_up(depth, steps));
      };
      group.product_flops += of_bins(shape.flops(rows, columns.count), product_steps(by_tma));
      group.cached_bytes += of_bins(shape.staged_bytes(rows, columns.count), staged_steps(by_tma));
    }
  };
  Counter counter{*this, {}};
  if (blocking_.keep_filters) counter.transform_b({0, geometry_.columns()}, {0, geometry_.depth()});
  for_steps(counter);
  const auto groups = static_cast<double>(problem_.groups);
  return OperationCount{counter.group.product_flops * groups, counter.group.transform_flops * groups,
                        static_cast<double>(problem_.total_bytes()) + counter.group.bytes * groups,
                        counter.group.cached_bytes * groups};
}

}  // namespace

std::unique_ptr<Plan> make_tiled_fft_plan(const ConvProblem& problem, int size, Device& device,
                                          const PlanOptions& options) {
  return std::make_unique<TiledPlan>(problem, size, device, options);
}

}  // namespace convscope::CONVSCOPE_KERNELS

#include "bench/step/gradient_sum.hpp"

#include <algorithm>
#include <utility>

#include "bench/parallel/network/cost.hpp"
#include "bench/parallel/reductions/one_bit_reduction.hpp"
#include "bench/parallel/reductions/reductions.hpp"

namespace convscope {
namespace {

// In the device's memory.
std::span<float> gradients_of(TrainingStep& step, const LayerRange& layers) {
  const size_t first = step.parameters_of(layers.begin).first;
  const auto [last, count] = step.parameters_of(layers.end - 1);
  return step.gradients().subspan(first, last + count - first);
}

class PlainSum final : public GradientSum {
 public:
  PlainSum(Reduction reduction, const Ranks& ranks, size_t values, Device& device)
      : reduction_(reduction),
        ranks_(ranks),
        values_(values),
        scratch_(device, scratch_values(reduction, values, ranks) * sizeof(float)) {}
  void run(Fabric& fabric, TrainingStep& step, const LayerRange& layers) override {
    all_reduce(reduction_, fabric, gradients_of(step, layers), scratch_.span_of<float>(), ranks_);
  }
  double busiest_bytes() const override {
    return convscope::busiest_bytes(reduction_, static_cast<double>(values_ * sizeof(float)), ranks_);
  }

 private:
  Reduction reduction_;
  Ranks ranks_;
  size_t values_;
  Buffer scratch_;
};

class LibrarySum final : public GradientSum {
 public:
  explicit LibrarySum(std::function<void(std::span<float>)> all_reduce)
      : all_reduce_(std::move(all_reduce)) {}
  void run(Fabric&, TrainingStep& step, const LayerRange& layers) override {
    all_reduce_(gradients_of(step, layers));
  }
  double busiest_bytes() const override { return 0; }  // it does not say

 private:
  std::function<void(std::span<float>)> all_reduce_;
};

// A layer's filter as columns, an output channel each; its biases, and the spaces behind them, in FP32.
class OneBitSum final : public GradientSum {
 public:
  OneBitSum(const TrainingStep& step, const Ranks& ranks, int rank, Device& device, Queue& queue)
      : ranks_(ranks) {
    size_t biases = 0;
    for (size_t i = 0; i < step.network().layers.size(); ++i) {
      const ConvProblem& problem = step.network().layers[i].problem;
      const Columns columns{problem.out_channels,
                            problem.in_channels_per_group() * problem.filter.h * problem.filter.w};
      const auto [first, count] = step.parameters_of(i);
      layers_.push_back({columns, first, first + columns.elements(), first + count,
                         OneBitReduction(columns, ranks.count, rank, device, queue)});
      biases += count - columns.elements();
    }
    biases_ = Buffer(device, biases * sizeof(float));
    scratch_ = Buffer(device, scratch_values(Reduction::striped, biases, ranks) * sizeof(float));
  }

  void run(Fabric& fabric, TrainingStep& step, const LayerRange& layers) override {
    const std::span<float> all = step.gradients();
    const std::span<Layer> summed = std::span(layers_).subspan(layers.begin, layers.end - layers.begin);
    for (Layer& layer : summed)
      layer.filter.all_reduce(fabric, all.subspan(layer.first, layer.columns.elements()));
    // Biases of all these layers in one message.
    size_t values = 0;
    const auto for_each_bias = [&](const auto& copy) {
      values = 0;
      for (const Layer& layer : summed) {
        const size_t count = layer.end - layer.first_bias;
        copy(all.subspan(layer.first_bias, count), biases_.span_of<float>().subspan(values, count));
        values += count;
      }
    };
    for_each_bias([&](std::span<float> own, std::span<float> gathered) { fabric.copy(own, gathered); });
    all_reduce(Reduction::striped, fabric, biases_.span_of<float>().first(values), scratch_.span_of<float>(),
               ranks_);
    for_each_bias([&](std::span<float> own, std::span<float> gathered) { fabric.copy(gathered, own); });
  }

  std::vector<float> kept(std::span<const size_t> places) const override {
    std::vector<float> values;
    for (size_t place : places) {
      const auto layer = std::ranges::find_if(layers_, [&](const Layer& one) { return place < one.end; });
      values.push_back(place < layer->first_bias ? layer->filter.kept(place - layer->first) : 0);
    }
    return values;
  }
  double own_kept_squares() const override {
    double squares = 0;
    for (const Layer& layer : layers_)
      for (const double error : layer.filter.error()) squares += error * error;
    return squares;
  }
  // The gradient with the old error, the code's level, twice; and what each loses.
  double roundings() const override { return 8; }
  double busiest_bytes() const override {
    double bytes = convscope::busiest_bytes(Reduction::striped, static_cast<double>(biases_.bytes()), ranks_);
    for (const Layer& layer : layers_) bytes += OneBitReduction::busiest_bytes(layer.columns, ranks_.count);
    return bytes;
  }

 private:
  struct Layer {
    Columns columns;
    size_t first, first_bias, end;  // of its parameters
    OneBitReduction filter;
  };

  Ranks ranks_;
  std::vector<Layer> layers_;
  Buffer biases_, scratch_;
};

}  // namespace

std::vector<LayerRange> summed_together(const TrainingStep& step, const Overlap& overlap) {
  std::vector<LayerWork> work;
  for (size_t i = 0; i < step.network().layers.size(); ++i) {
    work.emplace_back().name = step.network().layers[i].name;
    work.back().gradient_bytes = static_cast<double>(step.parameters_of(i).second * sizeof(float));
  }
  std::vector<LayerRange> ranges;
  for (const Bucket& bucket : buckets(work, overlap)) {
    // From the last layer to the first.
    const auto last = static_cast<size_t>(bucket.layers.front() - work.data());
    const auto first = static_cast<size_t>(bucket.layers.back() - work.data());
    ranges.push_back({first, last + 1});
  }
  return ranges;
}

std::unique_ptr<GradientSum> gradient_sum(const StepCase& of, const TrainingStep& step, int rank,
                                          Device& device, Queue& queue) {
  if (of.compression == Compression::one_bit)
    return std::make_unique<OneBitSum>(step, of.fleet.ranks, rank, device, queue);
  return std::make_unique<PlainSum>(of.reduction, of.fleet.ranks, step.gradients().size(), device);
}

std::unique_ptr<GradientSum> gradient_sum_by(std::function<void(std::span<float>)> all_reduce) {
  return std::make_unique<LibrarySum>(std::move(all_reduce));
}

}  // namespace convscope

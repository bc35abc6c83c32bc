#include "bench/parallel/schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace convscope {
namespace {

class StepSchedule {
 public:
  StepSchedule(std::span<const LayerWork> layers, const Overlap& overlap) : overlap_(overlap) {
    for (const LayerWork& layer : layers) {
      compute(layer, "forward", layer.forward);
      compute(layer, "forward operations", layer.forward_operations);
      result.update_seconds += layer.update;
    }
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      compute(*layer, "backward operations", layer->backward_operations);
      compute(*layer, "backward_filter", layer->backward_filter);
      gradient_ready(*layer);
      compute(*layer, "backward_data", layer->backward_data);
      compute(*layer, "backward of what it reads", layer->backward_of_reads);
    }
    end_of_backward();
  }

  const std::vector<Bucket>& buckets() const { return closed_; }

  void communicate(const std::function<double(std::span<const LayerWork* const>)>& reduction_seconds) {
    double free = 0;  // when the queue is
    for (const Bucket& bucket : closed_) {
      const double seconds = reduction_seconds(bucket.layers);
      std::string name = "reduce";
      for (const LayerWork* layer : bucket.layers) name += " " + layer->name;
      const double begin = std::max(free, bucket.ready);
      free = begin + seconds;
      result.spans.push_back({std::move(name), true, begin, free, bucket.bytes});
      result.communication_seconds += seconds;
    }
    result.reductions = static_cast<int64_t>(closed_.size());
    const double updates = std::max(now_, free);
    result.step_seconds = updates + result.update_seconds;
    if (result.update_seconds > 0) result.spans.push_back({"update", false, updates, result.step_seconds, 0});
  }

  Schedule result;

 private:
  void compute(const LayerWork& layer, const char* pass, double seconds) {
    if (seconds <= 0) return;
    result.spans.push_back({layer.name + " " + pass, false, now_, now_ + seconds, 0});
    now_ += seconds;
  }

  void gradient_ready(const LayerWork& layer) {
    if (layer.gradient_bytes <= 0) return;
    open_.layers.push_back(&layer);
    open_.bytes += layer.gradient_bytes;
    if (overlap_.kind == OverlapKind::none) return;
    const int64_t limit = overlap_.kind == OverlapKind::layer ? 0
                          : closed_.empty() ? std::min(kFirstBucketBytes, overlap_.bucket_bytes)
                                            : overlap_.bucket_bytes;
    if (open_.bytes >= static_cast<double>(limit)) close();
  }

  void end_of_backward() {
    if (!open_.layers.empty()) close();
    result.compute_seconds = now_ + result.update_seconds;
  }

  void close() {
    open_.ready = now_;
    closed_.push_back(std::move(open_));
    open_ = {};
  }

  Overlap overlap_;
  double now_ = 0;
  Bucket open_;
  std::vector<Bucket> closed_;
};

}  // namespace

std::string text(const Overlap& overlap) {
  if (overlap.kind == OverlapKind::none) return "none";
  if (overlap.kind == OverlapKind::layer) return "layer";
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  return overlap.bucket_bytes % kMebibyte == 0 ? fmt::format("bucket:{}MiB", overlap.bucket_bytes / kMebibyte)
                                               : fmt::format("bucket:{}", overlap.bucket_bytes);
}

double Schedule::overlap_efficiency() const {
  return communication_seconds > 0 ? std::clamp(1 - exposed_seconds() / communication_seconds, 0.0, 1.0) : 1;
}

std::vector<Bucket> buckets(std::span<const LayerWork> layers, const Overlap& overlap) {
  return StepSchedule(layers, overlap).buckets();
}

Schedule schedule(std::span<const LayerWork> layers, const Overlap& overlap,
                  const std::function<double(std::span<const LayerWork* const>)>& reduction_seconds) {
  StepSchedule step(layers, overlap);
  step.communicate(reduction_seconds);
  return step.result;
}

}  // namespace convscope

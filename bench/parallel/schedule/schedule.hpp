// The schedule of one data-parallel training step on one rank: forward, then from the last layer
// backward-filter, *gradient ready*, backward-data, while a queue reduces the gradients in the order in which
// they become ready. One compute stream and one communication queue, which do not slow each other down. Start
// at schedule().
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace convscope {

// Seconds of one layer's passes on one rank, and what it has to reduce.
struct LayerWork {
  std::string name;
  double forward = 0;
  double backward_filter = 0;
  double backward_data = 0;  // 0 of a layer that needs none, as the first
  double gradient_bytes = 0;
  double coded_bytes = 0;  // of the gradient as a codec sends it
  // What stands between this layer and the next, pools of what it reads, and the update of its parameters.
  double forward_operations = 0, backward_operations = 0, backward_of_reads = 0, update = 0;
};

// none: one reduction, when backward is done. layer: each layer's gradient when it is ready. bucket:
// gradients are collected in the order in which they become ready, and reduced together when they have
// `bucket_bytes` or more, the first time when they have kFirstBucketBytes, and at the end (as PyTorch's
// DistributedDataParallel).
enum class OverlapKind { none, layer, bucket };
struct Overlap {
  OverlapKind kind = OverlapKind::none;
  int64_t bucket_bytes = 0;
  bool operator==(const Overlap&) const = default;
};
inline constexpr int64_t kFirstBucketBytes = int64_t{1} << 20;
// "none", "layer", "bucket:25MiB".
std::string text(const Overlap& overlap);

// A piece of work on the compute stream or on the communication queue; seconds since the step began.
struct Span {
  std::string name;  // "conv2 backward_filter", "reduce conv2 conv1"
  bool is_communication = false;
  double begin = 0;
  double end = 0;
  double bytes = 0;  // of a reduction
};

struct Schedule {
  std::vector<Span> spans;     // in the order of their begin on each of the two
  double compute_seconds = 0;  // updates, which begin when all gradients are reduced, included
  double update_seconds = 0;
  double communication_seconds = 0;  // of the reductions alone, one after the other
  double step_seconds = 0;           // until both are done
  int64_t reductions = 0;

  // The part of communication that compute does not hide.
  double exposed_seconds() const { return step_seconds - compute_seconds; }
  // 1: all of it is hidden; 0: none. 1 where there is nothing to hide.
  double overlap_efficiency() const;
};

// Gradients that are reduced together, and when the last of them is ready.
struct Bucket {
  std::vector<const LayerWork*> layers;  // of those that were given
  double bytes = 0;                      // of their gradients
  double ready = 0;                      // seconds since the step began
};
// In the order in which they are reduced.
std::vector<Bucket> buckets(std::span<const LayerWork> layers, const Overlap& overlap);

// `reduction_seconds` is what one reduction of these layers' gradients takes; a layer without any is in none.
// `layers` are in the order of the forward pass.
Schedule schedule(std::span<const LayerWork> layers, const Overlap& overlap,
                  const std::function<double(std::span<const LayerWork* const>)>& reduction_seconds);

}  // namespace convscope

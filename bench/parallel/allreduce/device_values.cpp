#include "bench/parallel/allreduce/device_values.hpp"

#include <new>

#include "bench/parallel/reductions/cuda/add.hpp"

namespace convscope {
void DeviceFabric::exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) {
  sent_.clear();
  received_.clear();
  for (const Outgoing& message : sent)
    if (!message.bytes.empty()) sent_.push_back({message.to, message.bytes});
  for (const Incoming& message : received)
    if (!message.bytes.empty()) received_.push_back({message.from, message.bytes});
  if (!sent_.empty() || !received_.empty()) communicator_.exchange(sent_, received_, queue_);
}

void DeviceFabric::add(std::span<const float> from, std::span<float> to) {
  CONVSCOPE_BUILDS(enqueue_add).of(kind_)(from, to, queue_);
}

void enqueue_scale(DeviceKind kind, std::span<float> values, float factor, Queue& queue) {
  if (kind == DeviceKind::cpu) {
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < values.size(); ++i) values[i] *= factor;
    return;
  }
  CONVSCOPE_BUILDS(enqueue_scale).of(kind)(values, factor, queue);
}

bool DeviceValues::allocate(size_t values, size_t scratch) {
  values_ = Buffer();
  scratch_ = Buffer();
  const size_t bytes = sizeof(float) * (values + scratch) + 4 * Buffer::kGuardBytes;
  if (static_cast<int64_t>(bytes) > device_.usable_bytes()) return false;
  try {
    host_.resize(values);
    values_ = Buffer(device_, sizeof(float) * values);
    scratch_ = Buffer(device_, sizeof(float) * scratch);
  } catch (const std::bad_alloc&) {
    return false;
  }
  scratch_.fill_with_nan();
  return true;
}

void DeviceValues::all_reduce(const ReductionRow& row) {
  if (const auto reduction = from_name(kReductions, row.reduce))
    convscope::all_reduce(*reduction, fabric_, values_.span_of<float>(), scratch_.span_of<float>(),
                          row.fleet.ranks);
  else
    communicator_.all_reduce(values_.span_of<float>(), queue_);
}

bool DeviceValues::is_slowed() {
  if (!watch_) watch_.emplace(device_, 0, 0);
  return watch_->is_slowed();
}

}  // namespace convscope

#include "bench/parallel/schedule/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/parallel/network/cost.hpp"

namespace convscope {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr Overlap kNone{}, kLayer{OverlapKind::layer, 0};

Overlap bucket(int64_t bytes) {
  return {OverlapKind::bucket, bytes};
}

// Seconds are bytes over `rate`, and `latency` for each reduction.
auto at_rate(double rate, double latency = 0) {
  return [=](std::span<const LayerWork* const> layers) {
    double bytes = 0;
    for (const LayerWork* layer : layers) bytes += layer->gradient_bytes;
    return bytes / rate + latency;
  };
}

std::vector<std::string> reductions(const Schedule& step) {
  std::vector<std::string> names;
  for (const Span& span : step.spans)
    if (span.is_communication) names.push_back(span.name);
  return names;
}

// Forward 1 + 2 + 3 s; backward of c 3 + 3 s, of b 2 + 2 s, of a 1 s.
std::vector<LayerWork> three_layers() {
  return {{"a", 1, 1, 0, 100}, {"b", 2, 2, 2, 200}, {"c", 3, 3, 3, 300}};
}

TEST(Schedule, WithoutOverlapReducesAllAfterBackward) {
  const Schedule step = schedule(three_layers(), kNone, at_rate(100));
  EXPECT_DOUBLE_EQ(step.compute_seconds, 17);
  EXPECT_DOUBLE_EQ(step.communication_seconds, 6);
  EXPECT_DOUBLE_EQ(step.step_seconds, 23);
  EXPECT_DOUBLE_EQ(step.exposed_seconds(), 6);
  EXPECT_DOUBLE_EQ(step.overlap_efficiency(), 0);
  EXPECT_THAT(reductions(step), ::testing::ElementsAre("reduce c b a"));
}

TEST(Schedule, ByLayerHidesAllButTheFirstLayersReduction) {
  const Schedule step = schedule(three_layers(), kLayer, at_rate(100));
  EXPECT_THAT(reductions(step), ::testing::ElementsAre("reduce c", "reduce b", "reduce a"));
  std::vector<double> begins, ends;
  for (const Span& span : step.spans)
    if (span.is_communication) {
      begins.push_back(span.begin);
      ends.push_back(span.end);
    }
  // Ready at 9, 14 and 17; 3, 2 and 1 s each.
  EXPECT_THAT(begins, ::testing::ElementsAre(9, 14, 17));
  EXPECT_THAT(ends, ::testing::ElementsAre(12, 16, 18));
  EXPECT_DOUBLE_EQ(step.step_seconds, 18);
  EXPECT_DOUBLE_EQ(step.overlap_efficiency(), 1 - 1.0 / 6);
}

TEST(Schedule, ReducesOneAfterTheOtherWhenCommunicationIsSlow) {
  const Schedule step = schedule(three_layers(), kLayer, at_rate(10));
  EXPECT_DOUBLE_EQ(step.step_seconds, 9 + 60);
  EXPECT_DOUBLE_EQ(step.exposed_seconds(), 69 - 17);
}

TEST(Schedule, ClosesTheFirstBucketAtAMebibyteAndLaterOnesAtTheirSize) {
  std::vector<LayerWork> layers;
  for (const char* layer : {"a", "b", "c", "d", "e", "f"})
    layers.push_back({layer, 1, 1, 1, static_cast<double>(kMebibyte)});
  EXPECT_THAT(reductions(schedule(layers, bucket(2 * kMebibyte), at_rate(1e9))),
              ::testing::ElementsAre("reduce f", "reduce e d", "reduce c b", "reduce a"));
  EXPECT_THAT(reductions(schedule(layers, bucket(kMebibyte / 2), at_rate(1e9))), ::testing::SizeIs(6));
  layers[5].gradient_bytes = 10;  // below the first bucket's size
  EXPECT_THAT(reductions(schedule(layers, bucket(100 * kMebibyte), at_rate(1e9))),
              ::testing::ElementsAre("reduce f e", "reduce d c b a"));
}

TEST(Schedule, HasOperationsBetweenTheLayersAndUpdatesWhenAllIsReduced) {
  std::vector<LayerWork> layers = three_layers();
  layers[1].forward_operations = 10;
  layers[2].backward_operations = 20;  // before the gradient of c is ready
  layers[2].backward_of_reads = 40;    // after it
  layers[0].update = 5;
  const Schedule step = schedule(layers, kLayer, at_rate(100));
  EXPECT_DOUBLE_EQ(step.compute_seconds, 17 + 10 + 20 + 40 + 5);
  // a's gradients are ready at 87, and take 1 s.
  EXPECT_DOUBLE_EQ(step.step_seconds, 87 + 1 + 5);
  EXPECT_DOUBLE_EQ(step.exposed_seconds(), 1);
  EXPECT_EQ(step.spans.back().name, "update");
  EXPECT_DOUBLE_EQ(step.spans.back().begin, 88);
  double ready_of_c = 0;
  for (const Span& span : step.spans)
    if (span.name == "reduce c") ready_of_c = span.begin;
  EXPECT_DOUBLE_EQ(ready_of_c, 9 + 10 + 20);
}

TEST(Schedule, LeavesOutWhatTakesNoTimeAndWhatHasNoGradient) {
  const std::vector<LayerWork> layers{{"a", 1, 1, 0, 0}, {"b", 1, 1, 1, 100}};
  const Schedule step = schedule(layers, kLayer, at_rate(100));
  EXPECT_THAT(reductions(step), ::testing::ElementsAre("reduce b"));
  std::vector<std::string> computed;
  for (const Span& span : step.spans)
    if (!span.is_communication) computed.push_back(span.name);
  EXPECT_THAT(computed, ::testing::ElementsAre("a forward", "b forward", "b backward_filter",
                                               "b backward_data", "a backward_filter"));
  EXPECT_EQ(schedule({}, kLayer, at_rate(1)).step_seconds, 0);
  EXPECT_EQ(schedule({}, kLayer, at_rate(1)).overlap_efficiency(), 1);
}

TEST(Overlap, IsNamedAsItsFlagHasIt) {
  EXPECT_EQ(text(kNone), "none");
  EXPECT_EQ(text(kLayer), "layer");
  EXPECT_EQ(text(bucket(25 * kMebibyte)), "bucket:25MiB");
  EXPECT_EQ(text(bucket(1000)), "bucket:1000");
}

// --- The slides' own inputs: 200 ms of compute at batch 256, 45 ms a transfer of the gradients ---

// AlexNet as configs/alexnet_full.json has it: output channels, values of a column, output pixels.
struct AlexNetLayer {
  const char* name;
  double channels, values, pixels;
};
constexpr AlexNetLayer kAlexNet[] = {{"conv1", 96, 3 * 11 * 11, 55 * 55},
                                     {"conv2", 256, 96 * 5 * 5, 27 * 27},
                                     {"conv3", 384, 256 * 3 * 3, 13 * 13},
                                     {"conv4", 384, 384 * 3 * 3, 13 * 13},
                                     {"conv5", 256, 384 * 3 * 3, 13 * 13},
                                     {"fc6", 4096, 256 * 6 * 6, 1},
                                     {"fc7", 4096, 4096, 1},
                                     {"fc8", 1000, 4096, 1}};
constexpr double kAlexNetBytes = 249513376;

// 72% of the time over the convolutions by operations, the rest over the fully-connected layers by weights.
std::vector<LayerWork> alexnet(double seconds) {
  double convolutions = 0, connected = 0;
  for (const AlexNetLayer& layer : kAlexNet) {
    const double operations = layer.channels * layer.values * layer.pixels;
    if (layer.pixels > 1)
      convolutions += (layer.name == std::string("conv1") ? 2 : 3) * operations;
    else
      connected += 3 * operations;
  }
  std::vector<LayerWork> layers;
  for (const AlexNetLayer& layer : kAlexNet) {
    const double operations = layer.channels * layer.values * layer.pixels;
    const double pass = seconds * operations * (layer.pixels > 1 ? 0.72 / convolutions : 0.28 / connected);
    layers.push_back(
        {layer.name, pass, pass, layers.empty() ? 0 : pass, 4 * layer.channels * (layer.values + 1)});
  }
  return layers;
}

double speed_up(double batch, int gpus, Reduction reduction, const Overlap& overlap) {
  const double alone = 0.2 * batch / 256;
  const Link link{kAlexNetBytes / 45e-3, 5e-6};
  const auto cost = [&](std::span<const LayerWork* const> layers) {
    double bytes = 0;
    for (const LayerWork* layer : layers) bytes += layer->gradient_bytes;
    return all_reduce_cost(reduction, bytes, {gpus, 1}, {link, link}).seconds;
  };
  return alone / schedule(alexnet(alone / gpus), overlap, cost).step_seconds;
}

TEST(Schedule, GivesTheSpeedUpsThatTheSlidesInputsModel) {
  struct Expected {
    double batch;
    int gpus;
    double tree, tree_layer, ring, ring_layer;
  };
  for (const Expected& row : {Expected{128, 2, 0.71, 0.93, 1.05, 1.60},
                              {128, 4, 0.49, 0.53, 1.08, 1.31},
                              {256, 2, 1.05, 1.60, 1.38, 2.00},
                              {256, 4, 0.87, 1.01, 1.70, 2.35},
                              {512, 2, 1.38, 2.00, 1.63, 2.00},
                              {512, 4, 1.43, 1.86, 2.39, 3.90}}) {
    SCOPED_TRACE(std::to_string(row.batch) + " on " + std::to_string(row.gpus));
    EXPECT_NEAR(speed_up(row.batch, row.gpus, Reduction::tree, kNone), row.tree, 0.0051);
    EXPECT_NEAR(speed_up(row.batch, row.gpus, Reduction::tree, kLayer), row.tree_layer, 0.0051);
    EXPECT_NEAR(speed_up(row.batch, row.gpus, Reduction::ring, kNone), row.ring, 0.0051);
    EXPECT_NEAR(speed_up(row.batch, row.gpus, Reduction::ring, kLayer), row.ring_layer, 0.0051);
  }
}

// 1,024 GPUs with 256 images and 200 ms each, 5 GB/s and 5 us, reduced by layer or in 25 MB buckets.
TEST(Schedule, GivesTheDesignsStepsOn1024Gpus) {
  const Link link{5e9, 5e-6};
  const auto step_ms = [&](Reduction reduction, const Overlap& overlap) {
    const auto cost = [&](std::span<const LayerWork* const> layers) {
      double bytes = 0;
      for (const LayerWork* layer : layers) bytes += layer->gradient_bytes;
      return all_reduce_cost(reduction, bytes, {1024, 1}, {link, link}).seconds;
    };
    return 1e3 * schedule(alexnet(0.2), overlap, cost).step_seconds;
  };
  EXPECT_NEAR(step_ms(Reduction::tree, kLayer), 1069, 1);
  EXPECT_NEAR(step_ms(Reduction::ring, kLayer), 251, 1);
  EXPECT_NEAR(step_ms(Reduction::halving, kLayer), 200.2, 0.1);
  EXPECT_NEAR(step_ms(Reduction::ring, bucket(25'000'000)), 216.2, 0.1);
}

}  // namespace
}  // namespace convscope

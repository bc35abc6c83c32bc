#include "bench/core/layer_operation.hpp"

#include <gtest/gtest.h>

namespace convscope {
namespace {

TEST(LayerOperation, TextReadsBackToTheSameValue) {
  for (const char* text :
       {"bias", "relu", "lrn", "batch_norm", "add conv1", "add a layer of two words", "pool 3x3/2",
        "pool 2x3/1x2", "pool 3x3/2 pad 1", "pool 5x4/3 pad 1x0", "mean 7x7/1", "mean 3x2/2x1",
        "mean 3x3/1 pad 1", "mean 3x3/1 pad 1 uncounted", "mean 3x3/2 pad 0x1 uncounted"}) {
    const auto operation = operation_from_text(text);
    ASSERT_TRUE(operation) << text;
    EXPECT_EQ(to_text(*operation), text);
    EXPECT_EQ(operation_from_text(to_text(*operation)), operation);
  }
  EXPECT_EQ(to_text(*operation_from_text("pool 3/2")), "pool 3x3/2");
}

TEST(LayerOperation, AMeanCountsItsPaddingUnlessToldOtherwise) {
  EXPECT_TRUE(operation_from_text("mean 3x3/1 pad 1")->counts_padding);
  EXPECT_FALSE(operation_from_text("mean 3x3/1 pad 1 uncounted")->counts_padding);
  EXPECT_NE(operation_from_text("mean 3x3/1 pad 1"), operation_from_text("mean 3x3/1 pad 1 uncounted"));
  EXPECT_NE(operation_from_text("mean 3x3/1"), operation_from_text("pool 3x3/1"));
}

TEST(LayerOperation, WhatIsNoFormIsNothing) {
  for (const char* text : {"",
                           "Relu",
                           "relu ",
                           "batch_norm 1",
                           "add",
                           "add ",
                           "addconv1",
                           "pool",
                           "pool ",
                           "pool 3x3",
                           "pool 3x3/",
                           "pool 3x3/0",
                           "pool 0x3/1",
                           "pool 3x3/2 pad",
                           "pool 3x3/2 pad 3",
                           "pool 3x3/2 pad -1",
                           "pool -3/2",
                           "pool 3x/2",
                           "pool 3x3/2 x",
                           "pool 99999999999999999999/1",
                           "pool 3000000000/1",
                           "mean",
                           "mean 3x3",
                           "means 3x3/1",
                           "mean 3x3/0",
                           "mean 3x3/1 pad 3",
                           "mean 3x3/1 uncounted",
                           "mean 3x3/1 pad 0 uncounted",
                           "mean 3x3/1 pad 1 counted",
                           "mean 3x3/1 pad 1  uncounted",
                           "mean 3x3/1 pad 1 uncounted ",
                           "pool 3x3/1 pad 1 uncounted"})
    EXPECT_FALSE(operation_from_text(text)) << text;
}

TEST(LayerOperation, APoolsImageIsRoundedDownAndOthersKeepTheirs) {
  EXPECT_EQ(operation_from_text("pool 3x3/2")->output({55, 55}), (Extent2{27, 27}));
  EXPECT_EQ(operation_from_text("pool 3x3/2 pad 1")->output({112, 112}), (Extent2{56, 56}));
  EXPECT_EQ(operation_from_text("pool 2x2/2")->output({7, 6}), (Extent2{3, 3}));
  EXPECT_EQ(operation_from_text("pool 3x3/2")->output({2, 9}).h, 0);
  EXPECT_EQ(operation_from_text("mean 5x5/3")->output({14, 14}), (Extent2{4, 4}));
  EXPECT_EQ(operation_from_text("mean 3x3/1 pad 1 uncounted")->output({35, 17}), (Extent2{35, 17}));
  EXPECT_EQ(operation_from_text("lrn")->output({4, 5}), (Extent2{4, 5}));
}

}  // namespace
}  // namespace convscope

// What an epilogue does to sums, in place, on the CPU: for algorithms that apply it to what they have just
// computed, while it is in the cache, and for a pass over a whole tensor. f32; a NaN stays one, so that what
// was never written shows. Highway, on the best instruction set of the machine.
#pragma once

#include <cstdint>

#include "bench/core/problem.hpp"

namespace convscope {

// The biases from this channel on, of all; null where there are none.
inline const float* bias_from(const float* bias, int64_t channel) {
  return bias == nullptr ? nullptr : bias + channel;
}

// Of `rows` x `columns` values, each row `row_step` elements behind the one before it. A row is a channel,
// and `bias` has a value for each of them; it is not read where the epilogue has none.
void finish_rows(Epilogue epilogue, const float* bias, float* values, int64_t row_step, int64_t rows,
                 int64_t columns);
// The same where a column is a channel.
void finish_columns(Epilogue epilogue, const float* bias, float* values, int64_t row_step, int64_t rows,
                    int64_t columns);

// Of `images` x `channels` planes, one behind the other, by so many threads.
void finish_planes(Epilogue epilogue, const float* bias, float* values, int64_t images, int64_t channels,
                   int64_t pixels, int threads);

// Of a whole output tensor, in the problem's layout, by so many threads.
void finish_output(const ConvProblem& problem, const float* bias, float* output, int threads);

}  // namespace convscope

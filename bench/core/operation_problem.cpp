#include "bench/core/operation_problem.hpp"

namespace convscope {

std::string_view name(OperationSort sort) {
  constexpr std::string_view names[] = {
      "bias", "relu",     "bias+relu", "lrn",    "pool", "mean", "batch_norm", "batch_norm+relu",
      "add",  "add+relu", "copy",      "update", "1bit"};
  return names[static_cast<size_t>(sort)];
}

std::string_view name(Slot slot) {
  constexpr std::string_view names[] = {"x",        "y",    "dx", "dy", "parameter", "parameter_gradient",
                                        "velocity", "error"};
  return names[static_cast<size_t>(slot)];
}

Activations OperationProblem::out() const {
  if (!is_pool()) return in;
  const Extent2 image = pool.output({in.h, in.w});
  return {in.n, in.c, image.h, image.w};
}

std::vector<SlotUse> OperationProblem::slots() const {
  const SlotUse bias{Slot::parameter, Use::read}, bias_gradient{Slot::parameter_gradient, Use::written};
  switch (sort) {
    case OperationSort::bias:
      if (!backward) return {{Slot::y, Use::updated}, bias};
      return {{Slot::dy, Use::read}, bias_gradient};
    case OperationSort::relu:
      if (!backward) return {{Slot::y, Use::updated}};
      return {{Slot::y, Use::read}, {Slot::dy, Use::updated}};
    case OperationSort::bias_relu:
      if (!backward) return {{Slot::y, Use::updated}, bias};
      return {{Slot::y, Use::read}, {Slot::dy, Use::updated}, bias_gradient};
    case OperationSort::lrn:
      if (!backward) return {{Slot::x, Use::read}, {Slot::y, Use::written}};
      return {{Slot::x, Use::read}, {Slot::y, Use::read}, {Slot::dy, Use::read}, {Slot::dx, Use::written}};
    case OperationSort::pool:
    case OperationSort::mean:
      if (!backward) return {{Slot::x, Use::read}, {Slot::y, Use::written}};
      return {{Slot::dy, Use::read}, {Slot::dx, Use::written}};
    case OperationSort::batch_norm:
    case OperationSort::batch_norm_relu:
      if (!backward) return {{Slot::x, Use::read}, {Slot::y, Use::written}, {Slot::parameter, Use::read}};
      return {{Slot::x, Use::read},
              {Slot::dy, Use::read},
              {Slot::parameter, Use::read},
              {Slot::dx, Use::written},
              {Slot::parameter_gradient, Use::written}};
    case OperationSort::add:
    case OperationSort::add_relu:
      return {{Slot::y, Use::updated}, {Slot::x, Use::read}};
    case OperationSort::copy:
      return {{Slot::x, Use::read}, {Slot::y, Use::written}};
    case OperationSort::one_bit:
      return {{Slot::parameter_gradient, Use::updated}, {Slot::error, Use::updated}};
    case OperationSort::update:
      break;
  }
  return {
      {Slot::parameter, Use::updated}, {Slot::velocity, Use::updated}, {Slot::parameter_gradient, Use::read}};
}

int64_t OperationProblem::elements(Slot slot) const {
  switch (slot) {
    case Slot::x:
    case Slot::dx:
      return in.elements();
    case Slot::y:
    case Slot::dy:
      return out().elements();
    case Slot::parameter:
    case Slot::parameter_gradient:
    case Slot::velocity:
    case Slot::error:
      break;
  }
  if (is_batch_norm()) return 2 * in.c;
  return has_directions() ? in.c : in.elements();
}

int64_t OperationProblem::bytes() const {
  int64_t values = 0;
  for (const SlotUse& use : slots()) values += (use.use == Use::updated ? 2 : 1) * elements(use.slot);
  if (sort == OperationSort::lrn && backward) values -= elements(Slot::y);  // which x determines
  return values * static_cast<int64_t>(sizeof(float));
}

std::string to_text(const OperationProblem& problem) {
  if (problem.sort == OperationSort::update) return "update values=" + std::to_string(problem.in.elements());
  if (problem.sort == OperationSort::one_bit)
    return "1bit columns=" + std::to_string(problem.in.n) +
           " values=" + std::to_string(problem.in.elements() / problem.in.n);
  std::string text = problem.is_pool() ? to_text(problem.pool) : std::string(name(problem.sort));
  if (problem.backward) text += " backward";
  return text + " n=" + std::to_string(problem.in.n) + " c=" + std::to_string(problem.in.c) +
         " hw=" + to_text(Extent2{problem.in.h, problem.in.w});
}

}  // namespace convscope

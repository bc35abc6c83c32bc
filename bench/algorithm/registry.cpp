#include "bench/algorithm/registry.hpp"

#include <fnmatch.h>

#include <stdexcept>

#include "bench/algorithm/separate_epilogue.hpp"

namespace convscope {

void Registry::add(std::unique_ptr<Algorithm> algorithm) {
  if (find(algorithm->info().id) != nullptr)
    throw std::logic_error("two algorithms are called " + algorithm->info().id);
  const AlgorithmInfo& info = algorithm->info();
  if (info.candidate && !info.on_request) separate_.push_back(with_separate_epilogue(*algorithm));
  algorithms_.push_back(std::move(algorithm));
}

void Registry::add_operations(std::unique_ptr<OperationAlgorithm> operations) {
  operations_.push_back(std::move(operations));
}

const Algorithm* Registry::find(std::string_view id) const {
  for (const auto* all : {&algorithms_, &separate_})
    for (const auto& algorithm : *all)
      if (algorithm->info().id == id) return algorithm.get();
  return nullptr;
}

const Algorithm* Registry::separate(const Algorithm& algorithm) const {
  return find(separate_id(algorithm.info().id));
}

std::vector<const Algorithm*> Registry::all() const {
  std::vector<const Algorithm*> result;
  for (const auto& algorithm : algorithms_) result.push_back(algorithm.get());
  return result;
}

bool matches_glob(std::string_view glob, std::string_view text) {
  return fnmatch(std::string(glob).c_str(), std::string(text).c_str(), 0) == 0;
}

}  // namespace convscope

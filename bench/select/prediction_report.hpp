// What our own chooser picked, its regret beside that of the libraries' choices, as tables and as JSON.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "bench/report/console.hpp"
#include "bench/select/cost_model.hpp"
#include "bench/select/selection.hpp"

namespace convscope {

void print_predictions(std::ostream& out, const Selection& selection, const ConsoleStyle& style);
nlohmann::ordered_json predictions_json(const Selection& selection);

}  // namespace convscope

#include "bench/cli/select.hpp"

#include <ostream>

#include "bench/cli/terminal.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/record/record_json.hpp"
#include "bench/select/selection.hpp"

namespace convscope {

ResultFile read_all_results(const std::vector<std::string>& paths) {
  ResultFile all;
  all.config = nlohmann::ordered_json::array();
  for (const std::string& path : paths) {
    ResultFile next = read_results(path);
    for (ResultRecord& record : next.records) all.records.push_back(std::move(record));
    all.config.push_back(std::move(next.config));
  }
  rank_records(all.records);
  return all;
}

void select_results(std::ostream& out, const SelectOptions& options) {
  const ResultFile file = read_all_results(options.results);
  const Selection selection =
      select(file.records, options.choosers.empty() ? default_choosers() : options.choosers);
  if (options.json)
    out << dump_json(to_json(selection), 1) << '\n';
  else
    print_selection(out, selection, {describe_terminal().colour});
}

}  // namespace convscope

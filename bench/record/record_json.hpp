// The one JSON form of a record and its parts: the same in the journal, in results.json and on the pipe
// between worker and parent. No number is NaN or negative: what is not known is null, and no quantity of a
// record has a sign. The readers throw UsageError with the field's place where something is missing, of
// another kind or out of range.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "bench/record/result.hpp"

namespace convscope {

nlohmann::ordered_json to_json(const ResultRecord& record);
ResultRecord record_from_json(const nlohmann::ordered_json& json);

// What libraries said when they were asked to choose, without the measuring: problem, algorithm, cap and
// answer of each record that has one. Tests of the choosing read such files (algorithms/cudnn/recorded).
nlohmann::ordered_json recorded_answers(std::span<const ResultRecord> records);

// A part of a record that is written alone too.
template <typename T>
concept RecordPart = std::same_as<T, CaseKey> || std::same_as<T, SamplingRule> || std::same_as<T, Ceilings> ||
    std::same_as<T, OperationCount> || std::same_as<T, DeviceInfo>;
template <RecordPart Part>
nlohmann::ordered_json to_json(const Part& part);
template <RecordPart Part>
Part part_from_json(const nlohmann::ordered_json& json);

// The text of any JSON of ours: on one line, or indented. Bytes that are not UTF-8 (a library's message, a
// file name) become the replacement character; a plain dump() would throw.
std::string dump_json(const nlohmann::ordered_json& json, int indent = -1);

// For messages: 60 bytes of `text` at most, and no part of a UTF-8 character; what was cut becomes "...".
std::string cut_short(const std::string& text);

// Any JSON of ours from text. Throws UsageError, without a file's name: not JSON, with line and column; a
// number that no double holds; nested more than kDeepestJson levels, which the library would copy and print
// recursively.
inline constexpr int kDeepestJson = 128;  // merging runs that were merged nests them, by 3 levels each time
nlohmann::ordered_json parse_json_text(std::string_view text);

// What the library says of a fault, without its own name for it: "key 'schema' not found".
std::string fault_text(const nlohmann::json::exception& fault);

}  // namespace convscope

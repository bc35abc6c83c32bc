#include "bench/record/record_json.hpp"

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "bench/core/error.hpp"
#include "bench/record/record_fields.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

// --- Writing: one encode() per kind of value ---

template <typename T>
Json encode_object(const T& part);

Json encode(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json encode(const ConvProblem& problem) {
  return to_line(problem);
}
template <typename T>
Json encode(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(name(value));
  else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>)
    return value;
  else
    return encode_object(value);
}
template <typename T>
Json encode(const std::optional<T>& value) {
  return value ? encode(*value) : Json(nullptr);
}
template <typename T>
Json encode(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(encode(value));
  return list;
}
Json encode(const std::array<std::optional<double>, kPhaseCount>& phases) {
  Json object = Json::object();
  for (Phase phase : kPhases) object[std::string(name(phase))] = encode(phases[static_cast<size_t>(phase)]);
  return object;
}

struct Writer {
  Json object = Json::object();
  template <typename T>
  void operator()(const char* key, const T& value) {
    object[key] = encode(value);
  }
  template <typename T>
  void added(const char* key, const T& value) {
    (*this)(key, value);
  }
};

template <typename T>
Json encode_object(const T& part) {
  Writer writer;
  fields(writer, part);
  return std::move(writer.object);
}

// --- Reading: one decode() per kind of value; `place` is the JSON pointer of it ---

template <typename T>
void decode_object(const Json& json, T& part, const std::string& place);

[[noreturn]] void foreign(const Json& json, const std::string& place, const std::string& expected) {
  throw UsageError("result record, at " + (place.empty() ? "its top" : place) + ": expected " + expected +
                   ", found " + (json.is_null() ? "nothing" : cut_short(dump_json(json))));
}

void decode(const Json& json, std::string& text, const std::string& place) {
  if (!json.is_string()) foreign(json, place, "text");
  text = json.get<std::string>();
}
void decode(const Json& json, bool& value, const std::string& place) {
  if (!json.is_boolean()) foreign(json, place, "true or false");
  value = json.get<bool>();
}
// No time, size or rate is below 0; one that is, is no measurement and must not win.
void decode(const Json& json, double& value, const std::string& place) {
  const bool fits = json.is_null() || (json.is_number() && json.get<double>() >= 0);
  if (!fits) foreign(json, place, "a number from 0 or null");
  value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
template <std::integral T>
void decode(const Json& json, T& value, const std::string& place) {
  // One that is made in the program may be signed in memory and positive.
  const bool fits = json.is_number_integer() && (json.is_number_unsigned() || json.get<int64_t>() >= 0) &&
                    std::in_range<T>(json.get<uint64_t>());
  if (!fits)
    foreign(json, place, "a whole number from 0 to " + std::to_string(std::numeric_limits<T>::max()));
  value = json.get<T>();
}
void decode(const Json& json, ConvProblem& problem, const std::string& place) {
  if (!json.is_string()) foreign(json, place, "a problem line");
  try {
    problem = parse_problem(json.get<std::string>());
  } catch (const UsageError& error) {
    throw UsageError("result record, at " + place + ": " + error.what());
  }
}

template <typename E, size_t N>
void decode_name(const Json& json, E& value, const std::array<E, N>& all, const std::string& place) {
  const auto named = json.is_string() ? from_name(all, json.get<std::string>()) : std::nullopt;
  if (!named) {
    std::string allowed;
    for (E one : all) allowed += (allowed.empty() ? "one of " : ", ") + std::string(name(one));
    foreign(json, place, allowed);
  }
  value = *named;
}
void decode(const Json& json, DeviceKind& value, const std::string& place) {
  decode_name(json, value, kDeviceKinds, place);
}
void decode(const Json& json, Outcome& value, const std::string& place) {
  decode_name(json, value, kOutcomes, place);
}
void decode(const Json& json, Reason& value, const std::string& place) {
  decode_name(json, value, kReasons, place);
}
void decode(const Json& json, CacheState& value, const std::string& place) {
  decode_name(json, value, kCacheStates, place);
}

template <typename T>
requires std::is_class_v<T>
void decode(const Json& json, T& part, const std::string& place) {
  decode_object(json, part, place);
}
template <typename T>
void decode(const Json& json, std::optional<T>& value, const std::string& place) {
  value.reset();
  if (!json.is_null()) decode(json, value.emplace(), place);
}
template <typename T>
void decode(const Json& json, std::vector<T>& values, const std::string& place) {
  if (!json.is_array()) foreign(json, place, "a list");
  values.assign(json.size(), T());
  for (size_t i = 0; i < json.size(); ++i) decode(json[i], values[i], place + "/" + std::to_string(i));
}
void decode(const Json& json, std::array<std::optional<double>, kPhaseCount>& phases,
            const std::string& place) {
  if (!json.is_object()) foreign(json, place, "an object");
  for (Phase phase : kPhases) {
    const std::string key(name(phase));
    if (!json.contains(key)) foreign(nullptr, place + "/" + key, "a number or null");
    decode(json[key], phases[static_cast<size_t>(phase)], place + "/" + key);
  }
}

struct Reader {
  const Json& object;
  const std::string& place;
  template <typename T>
  void operator()(const char* key, T& value) {
    const std::string inner = place + "/" + key;
    const auto found = object.find(key);
    if (found == object.end()) throw UsageError("result record, at " + inner + ": missing");
    decode(*found, value, inner);
  }
  // Keeps its initial value where it is missing.
  template <typename T>
  void added(const char* key, T& value) {
    if (object.contains(key)) (*this)(key, value);
  }
};

template <typename T>
void decode_object(const Json& json, T& part, const std::string& place) {
  if (!json.is_object()) foreign(json, place, "an object");
  Reader reader{json, place};
  fields(reader, part);
  if constexpr (std::same_as<T, LibraryAnswer>) {
    const auto offers = static_cast<int64_t>(part.offers.size());
    if (part.chosen && *part.chosen >= offers)
      foreign(*part.chosen, place + "/chosen", "null or an index below " + std::to_string(offers));
  }
}

// Counts brackets outside of strings; what is no JSON at all the parser refuses.
bool is_nested_too_deeply(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

template <typename T>
T decoded(const Json& json) {
  T part;
  decode_object(json, part, "");
  return part;
}

}  // namespace

std::string fault_text(const nlohmann::json::exception& fault) {
  const std::string text = fault.what();
  const size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

Json parse_json_text(std::string_view text) {
  if (is_nested_too_deeply(text))
    throw UsageError("found lists or objects nested more than " + std::to_string(kDeepestJson) + " deep");
  try {
    return Json::parse(text);
  } catch (const Json::out_of_range& fault) {  // 1e999
    throw UsageError("a number that no double holds: " + fault_text(fault));
  } catch (const Json::exception& fault) {
    throw UsageError("not JSON: " + fault_text(fault));
  }
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string cut_short(const std::string& text) {
  size_t end = 60;
  if (text.size() <= end) return text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

Json to_json(const ResultRecord& record) {
  Json json = encode_object(record);
  // For readers; record_from_json reads neither.
  json["rerun"] = rerun_command(record);
  if (record.ranking) json["ranking"] = encode(*record.ranking);
  return json;
}
ResultRecord record_from_json(const Json& json) {
  return decoded<ResultRecord>(json);
}
Json recorded_answers(std::span<const ResultRecord> records) {
  Json answers = Json::array();
  for (const ResultRecord& record : records)
    if (record.answer)
      answers.push_back({{"library", record.algorithm.provider + " " + record.algorithm.version},
                         {"device", record.device.name},
                         {"problem", encode(record.key.problem)},
                         {"algorithm", record.key.algorithm},
                         {"workspace_cap_bytes", encode(record.key.workspace_cap)},
                         {"answer", encode(*record.answer)}});
  return {{"answers", std::move(answers)}};
}

template <RecordPart Part>
Json to_json(const Part& part) {
  return encode_object(part);
}
template Json to_json(const CaseKey&);
template Json to_json(const SamplingRule&);
template Json to_json(const Ceilings&);
template Json to_json(const OperationCount&);
template Json to_json(const DeviceInfo&);

template <RecordPart Part>
Part part_from_json(const Json& json) {
  return decoded<Part>(json);
}
template CaseKey part_from_json(const Json&);
template SamplingRule part_from_json(const Json&);
template Ceilings part_from_json(const Json&);
template OperationCount part_from_json(const Json&);
template DeviceInfo part_from_json(const Json&);

}  // namespace convscope

#include "bench/standin/libraries/cudnn/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>

#include "bench/standin/libraries/cudnn/status.hpp"
#include "bench/standin/libraries/script.hpp"

namespace convscope::standin {
namespace {

using Json = nlohmann::json;

std::set<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::set<std::string> words;
  for (std::string word; text >> word;) words.insert(word);
  return words;
}

// One answer of the script: of every problem whose line has all of its words.
struct Scripted {
  std::set<std::string> words;
  std::string algorithm;  // "cudnn.get.cuda"
  std::vector<Offer> offers;
  std::optional<size_t> chosen;
  std::vector<std::string> repeats;
};

Scripted parse_answer(const Json& json) {
  Scripted one;
  one.words = words_of(json.value("problem", ""));
  one.algorithm = json.at("algorithm").get<std::string>();
  const Json& answer = json.at("answer");
  for (const Json& from : answer.at("offers")) {
    Offer& offer = one.offers.emplace_back();
    offer.name = from.at("name").get<std::string>();
    offer.notes = from.value("notes", std::vector<std::string>());
    offer.refusal = from.value("refusal", "");
    offer.workspace_bytes = from.value("workspace_bytes", int64_t{0});
    if (const auto seconds = from.find("seconds"); seconds != from.end() && seconds->is_number())
      offer.seconds = seconds->get<double>();
  }
  if (const auto chosen = answer.find("chosen"); chosen != answer.end() && chosen->is_number())
    one.chosen = chosen->get<size_t>();
  one.repeats = answer.value("repeats", std::vector<std::string>());
  return one;
}

// "answers" is a list, or the name of a file that `run --record` wrote.
std::vector<Scripted> read_answers() {
  std::vector<Scripted> all;
  const Json& cudnn = section("cudnn");
  if (!cudnn.contains("answers")) return all;
  try {
    Json answers = cudnn.at("answers");
    if (answers.is_string()) {
      std::ifstream file(beside_the_script(answers.get<std::string>()));
      answers = Json::parse(file).at("answers");
    }
    for (const Json& answer : answers) all.push_back(parse_answer(answer));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stand-in libraries: the script's answers of cuDNN: %s\n", error.what());
    std::_Exit(3);
  }
  return all;
}

const std::vector<Scripted>& scripted_answers() {
  static const std::vector<Scripted> answers = read_answers();
  return answers;
}

bool is_about(const Scripted& scripted, const ConvProblem& problem) {
  const std::set<std::string> words = words_of(to_line(problem));
  return std::includes(words.begin(), words.end(), scripted.words.begin(), scripted.words.end());
}

ConvProblem in_other_layout(ConvProblem problem) {
  problem.layout = problem.layout == Layout::nhwc ? Layout::nchw : Layout::nhwc;
  return problem;
}

// The script's first answer of this variant to this problem. cudnn.find_transposed asks in the layout that is
// not its problem's.
const Scripted* answer_of(const std::string& variant, const ConvProblem& problem) {
  for (const Scripted& scripted : scripted_answers()) {
    if (scripted.algorithm == "cudnn." + variant + ".cuda" && is_about(scripted, problem)) return &scripted;
    if (variant == "find" && scripted.algorithm == "cudnn.find_transposed.cuda" &&
        is_about(scripted, in_other_layout(problem)))
      return &scripted;
  }
  return nullptr;
}

// The library's own refusal; what the program refuses of itself names no status.
bool is_librarys(const std::string& refusal) {
  return status_in(refusal) != CUDNN_STATUS_SUCCESS;
}

bool has_note(const Offer& offer, const std::string& note) {
  return std::find(offer.notes.begin(), offer.notes.end(), note) != offer.notes.end();
}

// What the script's answers together say of one algorithm or configuration: those that were never tried say
// nothing of workspace and refusal.
void add_what_is_known(Offer& known, const Offer& other) {
  if (known.refusal.empty() && is_librarys(other.refusal)) known.refusal = other.refusal;
  known.workspace_bytes = std::max(known.workspace_bytes, other.workspace_bytes);
  if (!known.seconds) known.seconds = other.seconds;
}

// Get and Find tell refusals of the convolution with a status; those of the workspace's query come later.
void drop_what_comes_later(std::vector<Offer>& offers) {
  for (Offer& offer : offers)
    if (!is_librarys(offer.refusal) || offer.refusal.starts_with("cudnnGetConvolution"))
      offer.refusal.clear();
}

// What a variant calls an offer: the algorithm, but for FP32 with its math type.
bool is_called(const Offer& offer, const std::string& name) {
  if (offer.name == name) return true;
  return std::any_of(offer.notes.begin(), offer.notes.end(),
                     [&](const std::string& note) { return offer.name + " " + note == name; });
}

// The offers in the order in which `name` comes before what was chosen most often.
void prefer(std::vector<Offer>& offers, size_t chosen, const std::string& name) {
  if (chosen < offers.size() && is_called(offers[chosen], name)) return;
  const auto found =
      std::find_if(offers.begin(), offers.end(), [&](const Offer& offer) { return is_called(offer, name); });
  if (found != offers.end()) std::rotate(offers.begin(), found, found + 1);
}

int times_found(const std::string& line) {
  static std::mutex mutex;
  static std::map<std::string, int> times;
  const std::lock_guard lock(mutex);
  return times[line]++;
}

KnobRange& knob_of(Engine& engine, int type, int64_t value) {
  for (KnobRange& knob : engine.knobs)
    if (knob.type == type) return knob;
  return engine.knobs.emplace_back(KnobRange{type, value, value, 0});
}

void add_config(GraphAnswers& graph, const Offer& offer) {
  const auto parsed = parse_config(offer.name);
  if (!parsed) return;
  Engine& engine = graph.engines[parsed->engine];
  if (engine.notes.empty()) engine.notes = offer.notes;
  for (const auto& [type, value] : parsed->knobs) {
    KnobRange& knob = knob_of(engine, type, value);
    knob.step = std::gcd(knob.step, std::abs(value - knob.min));
    knob.min = std::min(knob.min, value);
    knob.max = std::max(knob.max, value);
  }
  Offer& known = graph.configs[offer.name];
  known.name = offer.name;
  known.notes = engine.notes;
  add_what_is_known(known, offer);
  // With default knobs an engine is what the first configuration of it is.
  Offer& by_default = graph.configs.try_emplace(config_name(parsed->engine, {}), known).first->second;
  by_default.name = config_name(parsed->engine, {});
}

bool is_of_the_graph(const Scripted& scripted) {
  const std::string& id = scripted.algorithm;
  return id == "cudnn.autotune.cuda" || id.starts_with("cudnn.heur_") || id.starts_with("cudnn.engine.");
}

std::vector<std::string> names_of(const Scripted& scripted) {
  std::vector<std::string> names;
  for (const Offer& offer : scripted.offers)
    if (parse_config(offer.name)) names.push_back(offer.name);
  return names;
}

void add_graph_answers(GraphAnswers& graph, const ConvProblem& problem) {
  static const std::array<std::string, 3> ids = {"cudnn.heur_a.cuda", "cudnn.heur_b.cuda",
                                                 "cudnn.heur_fallback.cuda"};
  for (const Scripted& scripted : scripted_answers()) {
    if (!is_of_the_graph(scripted) || !is_about(scripted, problem)) continue;
    for (const Offer& offer : scripted.offers) add_config(graph, offer);
    for (size_t mode = 0; mode < ids.size(); ++mode)
      if (scripted.algorithm == ids[mode] && graph.ranked[mode].empty())
        graph.ranked[mode] = names_of(scripted);
  }
  const bool unranked =
      std::all_of(graph.ranked.begin(), graph.ranked.end(), [](const auto& names) { return names.empty(); });
  if (const Scripted* tuned = answer_of("autotune", problem); tuned != nullptr && unranked)
    graph.ranked[0] = names_of(*tuned);
}

}  // namespace

double scripted_time(std::optional<double> seconds) {
  return seconds.value_or(0) * section("cudnn").value("time_scale", 1.0);
}

std::span<const std::string_view> algorithm_names(Pass pass) {
  static constexpr std::string_view forward[] = {
      "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING",
      "WINOGRAD",      "WINOGRAD_NONFUSED"};
  static constexpr std::string_view data[] = {"ALGO_0",     "ALGO_1",   "FFT",
                                              "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
  static constexpr std::string_view filter[] = {
      "ALGO_0", "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED", "FFT_TILING"};
  static_assert(std::size(forward) == CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
  static_assert(std::size(data) == CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT);
  static_assert(std::size(filter) == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT);
  if (pass == Pass::forward) return forward;
  if (pass == Pass::backward_data) return data;
  return filter;
}

std::vector<Offer> get_offers(const ConvProblem& problem) {
  const Scripted* scripted = answer_of("get", problem);
  std::vector<Offer> offers = scripted == nullptr ? made_up_get(problem) : scripted->offers;
  drop_what_comes_later(offers);
  for (Offer& offer : offers) offer.seconds.reset();
  return offers;
}

std::vector<Offer> find_offers(const ConvProblem& problem) {
  const int time = times_found(to_line(problem));
  std::vector<Offer> offers;
  if (const Scripted* scripted = answer_of("find", problem)) {
    offers = scripted->offers;
    const auto& repeats = scripted->repeats;
    if (!repeats.empty() && scripted->chosen)
      prefer(offers, *scripted->chosen, repeats[static_cast<size_t>(time) % repeats.size()]);
  } else {
    offers = made_up_get(problem);
    double seconds = 0;
    for (Offer& offer : offers)
      if (offer.refusal.empty()) offer.seconds = seconds += 1e-4;
  }
  drop_what_comes_later(offers);
  return offers;
}

Offer forced_offer(const ConvProblem& problem, std::string_view algorithm, const std::string& math) {
  std::optional<Offer> known;
  for (const Scripted& scripted : scripted_answers()) {
    if (is_of_the_graph(scripted)) continue;
    const bool transposed = scripted.algorithm == "cudnn.find_transposed.cuda";
    if (!is_about(scripted, transposed ? in_other_layout(problem) : problem)) continue;
    for (const Offer& offer : scripted.offers)
      if (offer.name == algorithm && (math.empty() || offer.notes.empty() || has_note(offer, math))) {
        if (!known) known = Offer{offer.name, offer.notes, "", 0, std::nullopt};
        add_what_is_known(*known, offer);
      }
  }
  return known ? *known : made_up_forced(problem, algorithm, math);
}

std::string config_name(int64_t engine, const Knobs& knobs) {
  std::string name = fmt::format("engine {}", engine);
  for (const auto& [type, value] : knobs) name += fmt::format(" k{}={}", type, value);
  return name;
}

std::optional<ParsedConfig> parse_config(const std::string& name) {
  std::istringstream text(name);
  std::string word;
  ParsedConfig parsed;
  if (!(text >> word >> parsed.engine) || word != "engine") return std::nullopt;
  while (text >> word) {
    int type = 0;
    long long value = 0;
    if (std::sscanf(word.c_str(), "k%d=%lld", &type, &value) != 2) return std::nullopt;
    parsed.knobs.emplace_back(type, value);
  }
  return parsed;
}

GraphAnswers graph_answers(const ConvProblem& problem) {
  GraphAnswers graph;
  ConvProblem as = problem;
  const bool wide = storage_type(problem.math) == DataType::f32;
  for (const MathMode math : {MathMode::fp32, MathMode::tf32}) {
    if (wide) as.math = math;
    add_graph_answers(graph, as);
  }
  if (graph.engines.empty()) graph = made_up_graph(problem);
  graph.engine_count = std::max(graph.engine_count, graph.engines.rbegin()->first + 1);
  graph.engine_count = section("cudnn").value("engine_count", graph.engine_count);
  for (auto& [number, engine] : graph.engines)
    for (KnobRange& knob : engine.knobs) knob.step = std::max<int64_t>(1, knob.step);
  return graph;
}

}  // namespace convscope::standin

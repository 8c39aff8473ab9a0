#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/money.h"
#include "core/outcome.h"
#include "core/terms.h"
#include "providers/condition.h"
#include "providers/pointer.h"
#include "providers/template.h"

namespace geonce {

// What a spec file says (docs/formats/spec.md), checked and ready to be used by the engine.

// --- what is sent --------------------------------------------------------------------------------

/// Parts of a query, as `needs` and `drops` name them.
using QueryPart = std::string Query::*;

struct RequestForm {
  std::string method = "GET";
  Template url;
  NamedTemplates query, headers, form;
  std::optional<JsonTemplate> json;
  std::chrono::milliseconds timeout{8'000};
};

/// Another way to ask the single endpoint, for queries that came as fields.
struct FieldsRequest {
  std::optional<Template> url;
  NamedTemplates query;
  std::vector<std::vector<QueryPart>> needs;  // one of these lists has to be there
  std::vector<QueryPart> carries;  // parts that the templates send, and those that may be dropped
};

// --- what is read --------------------------------------------------------------------------------

struct ErrorRule {
  Condition when;
  FailureClass failure = FailureClass::retry;
  std::string reason;
  std::optional<Billed> billed;
  std::optional<std::chrono::milliseconds> delay;  // of retry_after, when the answer names none
};

struct PrecisionRule {
  Condition when;  // pointers start at the candidate
  Precision as = Precision::unknown;
};

struct ConfidenceSource {
  Pointer at;
  double divide_by = 1;
  std::map<std::string, double, std::less<>> words;  // empty: a number
};

/// How a body, or one item of a batch, becomes an outcome.
struct Reading {
  std::vector<Condition> no_match, ambiguous, pending;
  std::vector<ErrorRule> errors;
  Condition expect;            // what every proper answer fulfils
  std::vector<Pointer> items;  // the list of candidates: the first of these that is an array.
                               // Empty: the body is the one candidate
  std::vector<Pointer> lat, lon;
  std::optional<Pointer> lon_lat;  // both in one text, "lon,lat"
  std::vector<PrecisionRule> precision;
  std::optional<ConfidenceSource> confidence;
  std::optional<Condition> partial;
  Country country;  // where the provider serves one country only
  TextSource country_text;
  TextSource formatted, place_id, house_number, street, unit, city, state, postcode;
};

struct Bulk {
  std::size_t max = 0;
  RequestForm request;
  std::vector<std::vector<QueryPart>> needs;  // empty: anything goes
  std::vector<QueryPart> carries;             // with `needs`: a query with other parts goes singly
  std::size_t max_chars = 0;                  // characters of an address in one line; 0: no limit
  std::vector<Country> countries;             // empty: as the spec. Others go singly

  // JSON: a list of items, or an object that holds each under its key.
  std::optional<JsonTemplate> item;
  std::optional<Template> key;
  Pointer list_at;  // where the list stands in the body that is sent

  // CSV in a multipart form.
  std::string file_field, file_name;
  NamedTemplates form, columns;
  bool header = true;
  bool quotes =
      true;  // false: the service splits at every comma, so commas and quotes become blanks

  // The answer: JSON items, or CSV rows read as objects.
  bool answer_is_csv = false;
  std::vector<std::string>
      answer_columns;  // of a CSV without a header; empty: the first row names them
  std::vector<Pointer> items;
  std::optional<Pointer> ref, echo, status, response;
  std::optional<Reading> reading;  // absent: items are read as single answers are
};

/// Where the reference and the coordinates of an item stand that is read in its own way.
std::vector<Pointer> needed_places(const Bulk& bulk);

struct Prices {
  Money single, bulk;
  std::vector<OutcomeKind> bills{
      OutcomeKind::match, OutcomeKind::no_match, OutcomeKind::ambiguous, OutcomeKind::pending};
  std::vector<OutcomeKind> may_bill;
};

struct Spec {
  std::string name;
  std::string title;
  std::string facts;   // where they were read, and when
  std::string origin;  // the file's name
  std::string text;    // its content
  Terms terms;
  Prices prices;
  double rate_per_s = 0;
  std::size_t concurrency = 8;
  std::vector<Country> countries;
  bool needs_user_agent = false;
  bool needs_secret = false;  // some template uses `{secret}`
  bool latin1 = false;        // bodies whose headers name no charset are in ISO-8859-1, else UTF-8
  bool ascii = false;         // see Filling
  int no_match_rechecks = 0;
  std::chrono::milliseconds max_delay{std::chrono::hours{1}};  // a longer one stops the provider
  std::string delay_header = "retry-after";
  std::optional<Pointer> delay_at;  // seconds, in the body
  std::string request_id_header;
  RequestForm ask;
  std::optional<FieldsRequest> fields;
  Reading reading;
  std::optional<Bulk> bulk;
};

/// origin    named in error messages
/// errors    invalid_config  "FILE:LINE: …": TOML that does not parse, an unknown key, a wrong type
/// …
Result<Spec> parse_spec(std::string_view toml, std::string_view origin);

using Specs = std::map<std::string, Spec, std::less<>>;

/// The built-in specs, and those of `folder` (every *.toml in it; empty path: none), which replace
/// built-in ones of the same name.
/// errors    invalid_config, io_failed
Result<Specs> load_specs(const std::filesystem::path& folder);

}  // namespace geonce

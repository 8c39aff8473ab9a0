#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/asking.h"
#include "gateway/endpoint.h"
#include "gateway/json_writer.h"

namespace geonce {

// Other APIs' words for what geonce answers, so that their clients need another address and nothing
// else. Parameters that have no meaning here are passed over, as those APIs do; who the clients say
// they are is not looked at.

/// The response in the words of another API: a match, or null where there is none of any kind; or
/// an error.
struct Words {
  ServerResponse (*of_answer)(const Answer* match);
  ServerResponse (*of_error)(const Error& error);
};

/// Answers one query so, with the field `Geonce-Key` and where it came from.
void answer_in(const Words& words,
               EndpointContext& context,
               const ServerRequest& request,
               const QueryView& query,
               HttpReply reply);

/// Reads the parameters of `request`. false: they are broken, and `reply` has been sent.
bool read_parameters(EndpointContext& context,
                     const ServerRequest& request,
                     const Words& words,
                     HttpReply& reply);

/// The one country of a list such as `us` or `us,ca`; empty where it names several: then none of
/// them is meant more than the others.
std::string_view only_one(std::string_view countries);

/// The address in one line: as the provider has it, or its parts.
std::string line_of(const Answer& answer);

/// `12 Main St`
std::string street_line_of(const Answer& answer);

ServerResponse json_response(std::string body, int status = 200);

/// `"geometry":{"type":"Point","coordinates":[…]}`, longitude first.
void write_point(JsonWriter& json, const LatLng& at);

std::string lower(std::string_view text);

}  // namespace geonce

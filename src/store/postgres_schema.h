#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "io/postgres.h"

namespace geonce {

/// How a database stands to the steps of sql/postgres.
struct PostgresSchema {
  enum class State : std::uint8_t {
    ready,  // also where a newer program has added steps that this one can live with
    none,   // no geonce store
    older,  // has to be brought up
  };
  State state = State::none;
  std::int64_t last_step = 0;
};

/// errors    store_newer  it has a step that this program has to know and does not, or another text
///                        of one
///           store_unavailable  may not be read, or a server or an encoding that cannot be used
Result<PostgresSchema> examine_schema(PgConnection& connection,
                                      Deadline deadline,
                                      const Clock& clock);

/// Adds the steps that are missing, all or none; one process at a time, the others wait and find
/// nothing to do. Returns the names of those added.
/// errors    store_unavailable  the role may not do it, and what the message says of it
Result<std::vector<std::string>> bring_up_schema(PgConnection& connection,
                                                 Deadline deadline,
                                                 const Clock& clock);

}  // namespace geonce

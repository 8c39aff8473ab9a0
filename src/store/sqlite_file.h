#pragma once

#include <memory>
#include <string_view>

#include "core/clock.h"
#include "io/sqlite.h"
#include "store/store.h"

namespace geonce {

/// The name of a file system that lives on other machines ("NFS"), by the `f_type` of statfs(2);
/// empty for any other. SQLite's log needs memory shared between processes, which those do not
/// give.
std::string_view network_file_system(long type);

/// Opens the file for writing, makes it when absent and wanted, and brings its schema up to this
/// program's last step.
/// errors    as open_sqlite_store
Result<std::unique_ptr<SqliteDb>> open_sqlite_file(const SqliteOptions& options,
                                                   const Clock& clock);

/// Another connection to a file that `open_sqlite_file` has opened; it only reads.
Result<std::unique_ptr<SqliteDb>> open_sqlite_reader(const SqliteOptions& options);

/// Whether a newer program has changed the schema while this one was running. Inside a transaction.
/// errors    store_newer
Result<void> expect_known_schema(SqliteDb& db);

/// The number of the last schema step in the file.
std::int64_t schema_number(SqliteDb& db);

}  // namespace geonce

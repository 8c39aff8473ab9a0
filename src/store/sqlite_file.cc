#include "store/sqlite_file.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store/sql_steps.h"

namespace geonce {
namespace {

namespace fs = std::filesystem;

// "gnce": tells a geonce store from any other SQLite file.
constexpr std::int64_t kApplicationId = 0x676E6365;

std::string because(int code) { return std::generic_category().message(code); }

/// What is wrong with the path, in words that SQLite does not find.
Result<void> expect_usable(const SqliteOptions& options) {
  const std::string& path = options.path;
  if (path.empty()) return fail(ErrorCode::store_unavailable, "the store has no path");
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode))
      return fail(ErrorCode::store_unavailable,
                  "the store {} is a folder; name a file in it, like {}",
                  path,
                  (fs::path(path) / "geonce.db").string());
    if (!S_ISREG(status.st_mode))
      return fail(ErrorCode::store_unavailable, "the store {} is no regular file", path);
    if (::access(path.c_str(), R_OK | W_OK) != 0)
      return fail(
          ErrorCode::store_unavailable,
          "the store {} may not be read and written by this user ({}); claims and the ledger "
          "have to be written before a call: give write permission, or name another file",
          path,
          because(errno));
  } else if (errno != ENOENT && errno != ENOTDIR) {
    return fail(
        ErrorCode::store_unavailable, "the store {} cannot be reached: {}", path, because(errno));
  } else if (!options.create) {
    return fail(ErrorCode::store_unavailable, "there is no store at {}; check the path", path);
  }
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return fail(ErrorCode::store_unavailable,
                "the store {} cannot be made: {} is no folder; make it or name another path",
                path,
                folder.string());
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(
        ErrorCode::store_unavailable,
        "the folder {} of the store {} may not be written by this user ({}); the store keeps "
        "its log beside it",
        folder.string(),
        path,
        because(errno));
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) == 0) {
    if (const auto name = network_file_system(static_cast<long>(system.f_type)); !name.empty())
      return fail(
          ErrorCode::store_unavailable,
          "the store {} is on a network file system ({}), where SQLite's locks do not hold; put "
          "it on a local disk",
          path,
          name);
  }
  return {};
}

/// An empty file that only its owner may read: it will hold addresses. The log takes over its mode.
///
/// mknod and not open: closing a descriptor of the file would drop every lock that this process has
/// on it, also those of another store on the same file.
Result<void> make_file(const std::string& path) {
  if (::mknod(path.c_str(), S_IFREG | 0600, 0) == 0 || errno == EEXIST) return {};
  return fail(
      errno == ENOSPC || errno == EDQUOT ? ErrorCode::disk_full : ErrorCode::store_unavailable,
      "the store {} cannot be made: {}",
      path,
      because(errno));
}

std::int64_t pragma(SqliteDb& db, std::string_view sql) {
  auto row = db.prepare(sql);
  return row.step() ? row.integer(0) : 0;
}

/// Turning the log on needs the file alone for a moment, and SQLite does not wait for that by
/// itself.
Result<void> enter_wal_mode(SqliteDb& db, milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    db.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;");
    auto done = db.take_error();
    if (done || done.error().code != ErrorCode::store_busy ||
        std::chrono::steady_clock::now() >= until)
      return done;
  }
}

Result<void> expect_same_step(const SqlStep& step,
                              std::string_view checksum,
                              const std::string& path) {
  if (checksum == step.checksum) return {};
  return fail(
      ErrorCode::store_newer,
      "the store {} was made by another build of geonce (its schema step {} differs); use that "
      "build, or another store",
      path,
      step.name);
}

tl::unexpected<Error> newer(const std::string& path, std::int64_t number) {
  return fail(
      ErrorCode::store_newer,
      "the store {} was made by a newer geonce (schema step {}, this program knows {}); update "
      "geonce, or use another store",
      path,
      number,
      sqlite_steps().back().number);
}

/// Checks the steps that the file has and adds those it lacks, all or none.
Result<void> bring_up(SqliteDb& db, UtcMs now) {
  auto transaction = SqliteTransaction::begin(db, SqliteTransaction::Kind::write);
  if (!transaction) return fail(transaction.error());
  const auto application = pragma(db, "PRAGMA application_id");
  const bool is_empty = pragma(db, "SELECT count(*) FROM sqlite_schema") == 0;
  if (!db.has_failed() && application != kApplicationId && !(application == 0 && is_empty))
    return fail(ErrorCode::store_corrupt,
                "{} is an SQLite file, but no geonce store; name another path",
                db.path());
  if (is_empty && !db.has_failed()) {
    db.execute(fmt::format("PRAGMA application_id = {};", kApplicationId));
    db.execute(
        "CREATE TABLE schema_step (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT "
        "NOT NULL, "
        "applied_at INTEGER NOT NULL) STRICT;");
  }
  const auto last = pragma(db, "SELECT max(number) FROM schema_step");
  if (!db.has_failed() && last > sqlite_steps().back().number) return newer(db.path(), last);
  for (const auto& step : sqlite_steps()) {
    {
      auto row = db.prepare("SELECT checksum FROM schema_step WHERE number = ?");
      if (row.bind(step.number).step()) {
        if (auto same = expect_same_step(step, row.bytes(0), db.path()); !same) return same;
        continue;
      }
    }
    db.execute(std::string(step.text));
    db.prepare("INSERT INTO schema_step VALUES (?, ?, ?, ?)")
        .bind(step.number, step.name, step.checksum, now)
        .run();
    db.execute(fmt::format("PRAGMA user_version = {};", step.number));
  }
  return transaction->commit();
}

Result<std::unique_ptr<SqliteDb>> open_connection(const SqliteOptions& options, bool query_only) {
  return SqliteDb::open({options.path, options.cache_bytes, options.busy_timeout, query_only});
}

}  // namespace

std::string_view network_file_system(long type) {
  struct Row {
    std::uint32_t magic;
    std::string_view name;
  };
  // <linux/magic.h>, and the lists of statfs(2) and of GNU coreutils' stat for those outside the
  // kernel.
  static constexpr std::array kRows{
      Row{0x6969, "NFS"},
      Row{0x517B, "SMB"},
      Row{0xFF534D42, "CIFS"},
      Row{0xFE534D42, "SMB2"},
      Row{0x5346414F, "AFS"},
      Row{0x6B414653, "AFS"},
      Row{0x73757245, "Coda"},
      Row{0x00C36400, "Ceph"},
      Row{0x0BD00BD0, "Lustre"},
      Row{0x47504653, "GPFS"},
      Row{0x7461636F, "OCFS2"},
      Row{0x01161970, "GFS2"},
      Row{0x564C, "NCP"},
      Row{0x19830326, "BeeGFS"},
      Row{0xAAD7AAEA, "PanFS"},
  };
  for (const auto& row : kRows)
    if (row.magic == static_cast<std::uint32_t>(type)) return row.name;
  return {};
}

Result<std::unique_ptr<SqliteDb>> open_sqlite_file(const SqliteOptions& options,
                                                   const Clock& clock) {
  if (auto usable = expect_usable(options); !usable) return fail(usable.error());
  if (options.create)
    if (auto made = make_file(options.path); !made) return fail(made.error());
  auto db = open_connection(options, false);
  if (!db) return db;
  if (auto done = enter_wal_mode(**db, options.busy_timeout); !done) return fail(done.error());
  // FULL: an acknowledged commit survives a loss of power, else a paid answer is paid for again.
  // The log is cut back to `journal_size_limit` when it starts anew. Freed bytes are overwritten:
  // terms end for them.
  (*db)->execute(
      "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = "
      "FAST;");
  if (auto done = (*db)->take_error(); !done) return fail(done.error());
  if (auto done = bring_up(**db, clock.now_utc()); !done) return fail(done.error());
  return db;
}

Result<std::unique_ptr<SqliteDb>> open_sqlite_reader(const SqliteOptions& options) {
  return open_connection(options, true);
}

std::int64_t schema_number(SqliteDb& db) { return pragma(db, "PRAGMA user_version"); }

Result<void> expect_known_schema(SqliteDb& db) {
  const auto number = schema_number(db);
  if (!db.has_failed() && number > sqlite_steps().back().number) return newer(db.path(), number);
  return {};
}

}  // namespace geonce

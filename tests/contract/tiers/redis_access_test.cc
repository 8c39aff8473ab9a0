#include <fstream>
#include <sstream>

#include "contract/tiers/tier_contract.h"
#include "support/certificates.h"

// Who may come in: passwords, users, sockets, certificates.

namespace geonce {
namespace {

bool works(const OpenedTier& tier) {
  const Slot probe = slot_of(1'000'000);
  return keep(*tier.tier, probe, cached_of("probe")) && look_up(*tier.tier, probe) == "probe";
}

std::string with_login(const RedisServer& server, const std::string& login) {
  return "redis://" + login + "@127.0.0.1:" + std::to_string(server.port());
}

TEST(RedisAccess, the_right_password_comes_in_and_a_wrong_one_is_told_without_being_shown) {
  RedisServer server({"--requirepass", "right-word"});
  const OpenedTier right = open_tier(with_login(server, ":right-word"));
  EXPECT_TRUE(comes_true([&] { return works(right); })) << right.all();
  for (const std::string login : {":wrong-word", "someone:wrong-word"}) {
    const OpenedTier wrong = open_tier(with_login(server, login));
    EXPECT_TRUE(comes_true([&] { return wrong.noticed("it refuses us: WRONGPASS") == 1; }));
    EXPECT_EQ(look_up(*wrong.tier, slot_of(1)), "!");
    EXPECT_EQ(wrong.noticed("-word"), 0U) << wrong.all();
  }
  const OpenedTier none = open_tier(server.url());
  EXPECT_TRUE(comes_true([&] { return none.noticed("it refuses us: NOAUTH") == 1; }));
}

/// The line of the how-to page.
std::vector<std::string> documented_user() {
  std::ifstream page(GEONCE_SOURCE_DIR "/docs/how-to/share-a-cache-in-redis.md");
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
    if (all.size() > 3 && all[0] == "ACL" && all[1] == "SETUSER") return all;
  }
  return {};
}

TEST(RedisAccess, the_rights_that_the_docs_name_are_enough) {
  RedisServer server;
  const auto user = documented_user();
  ASSERT_GT(user.size(), 5U);
  ASSERT_EQ(server.command(user), "OK");
  const OpenedTier tier = open_tier(with_login(server, "geonce:PASSWORD"));
  ASSERT_TRUE(comes_true([&] { return works(tier); })) << tier.all();
  ASSERT_TRUE(end(*tier.tier, slot_of(1), 1));
  server.command({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(keep(*tier.tier, slot_of(1), cached_of("a", 2)));
  RedisTierOptions elsewhere;
  elsewhere.prefix = "other:";
  const OpenedTier other = open_tier(with_login(server, "geonce:PASSWORD"), kPatience, elsewhere);
  EXPECT_TRUE(comes_true([&] {
    return !keep(*other.tier, slot_of(1), cached_of("a")) &&
           other.noticed("refuses a command: NOPERM") == 1;
  })) << other.all();
}

TEST(RedisAccess, a_database_of_its_own_and_a_socket) {
  TempDir dir;
  RedisServer server({"--unixsocket", dir.file("redis.sock")});
  const OpenedTier tier = open_tier("unix://" + dir.file("redis.sock") + "?db=3");
  ASSERT_TRUE(comes_true([&] { return works(tier); })) << tier.all();
  EXPECT_EQ(server.command({"DBSIZE"}), "0");
  EXPECT_NE(server.info("db3"), "");
}

class RedisTlsAccess : public ::testing::Test {
 protected:
  RedisTlsAccess() {
    certificates_.make_authority("other");
    certificates_.make("elsewhere", "ca", "DNS:elsewhere.example");
  }
  [[nodiscard]] std::string file(const std::string& name) const { return certificates_.file(name); }
  /// A server that speaks TLS on one port, and on its own port without for the test.
  void serve(const std::string& certificate, const std::string& clients) {
    port_ = free_port();
    server_ = std::make_unique<RedisServer>(std::vector<std::string>{"--tls-port",
                                                                     std::to_string(port_),
                                                                     "--tls-cert-file",
                                                                     file(certificate + ".crt"),
                                                                     "--tls-key-file",
                                                                     file(certificate + ".key"),
                                                                     "--tls-ca-cert-file",
                                                                     file("ca.crt"),
                                                                     "--tls-auth-clients",
                                                                     clients});
  }
  [[nodiscard]] OpenedTier open(const std::string& host, RedisTlsFiles files) const {
    return open_tier(
        "rediss://" + host + ":" + std::to_string(port_), kPatience, {}, std::move(files));
  }

  const Certificates certificates_;
  int port_ = 0;
  std::unique_ptr<RedisServer> server_;
};

TEST_F(RedisTlsAccess, a_server_is_trusted_by_its_authority_and_its_name) {
  serve("server", "no");
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const OpenedTier tier = open(host, {file("ca.crt"), {}, {}});
    ASSERT_TRUE(comes_true([&] { return works(tier); })) << tier.all();
    std::vector<Remembered> entries;
    std::vector<Slot> slots;
    for (std::uint64_t i = 0; i < 3'000; ++i) {
      slots.push_back(slot_of(i));
      entries.push_back({slots.back(), cached_of(std::to_string(i))});
    }
    ASSERT_TRUE(tier->store(entries, soon()));
    const auto found = tier->find(slots, soon());
    ASSERT_TRUE(found) << found.error().message;
    for (std::uint64_t i = 0; i < 3'000; ++i) ASSERT_EQ(id((*found)[i]), std::to_string(i));
  }
}

TEST_F(RedisTlsAccess, a_server_of_another_authority_or_name_is_not_talked_to) {
  serve("server", "no");
  const OpenedTier unknown = open("127.0.0.1", {file("other.crt"), {}, {}});
  EXPECT_TRUE(comes_true([&] { return unknown.noticed("its certificate is refused") == 1; }))
      << unknown.all();
  EXPECT_EQ(look_up(*unknown.tier, slot_of(1)), "!");
  serve("elsewhere", "no");
  const OpenedTier misnamed = open("127.0.0.1", {file("ca.crt"), {}, {}});
  EXPECT_TRUE(comes_true([&] { return misnamed.noticed("its certificate is refused") == 1; }))
      << misnamed.all();
}

TEST_F(RedisTlsAccess, a_client_shows_its_certificate_where_it_must) {
  serve("server", "yes");
  const OpenedTier known =
      open("127.0.0.1", {file("ca.crt"), file("client.crt"), file("client.key")});
  EXPECT_TRUE(comes_true([&] { return works(known); })) << known.all();
  const OpenedTier nobody = open("127.0.0.1", {file("ca.crt"), {}, {}});
  EXPECT_TRUE(comes_true([&] { return nobody.noticed("left alone until it works again") == 1; }));
}

TEST_F(RedisTlsAccess, files_that_are_none_are_a_fault_of_the_configuration) {
  for (const RedisTlsFiles& files :
       {RedisTlsFiles{file("absent"), {}, {}},
        RedisTlsFiles{file("ca.crt"), file("absent"), file("client.key")},
        RedisTlsFiles{file("ca.crt"), file("client.crt"), file("server.key")}}) {
    const auto opened = open_redis_tls(files);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_config);
  }
}

}  // namespace
}  // namespace geonce

#include <fstream>

#include "contract/tiers/tier_contract.h"
#include "io/redis_cluster.h"
#include "support/certificates.h"

// Sentinels and clusters that want certificates and passwords.

namespace geonce {
namespace {

constexpr std::uint64_t kCount = 100;

std::vector<Remembered> entries(std::int64_t gen) {
  std::vector<Remembered> all;
  for (std::uint64_t i = 0; i < kCount; ++i)
    all.push_back({slot_of(i), cached_of(std::to_string(i), gen)});
  return all;
}
std::uint64_t hits(Tier& tier) {
  std::vector<Slot> slots;
  for (std::uint64_t i = 0; i < kCount; ++i) slots.push_back(slot_of(i));
  const auto found = tier.find(slots, soon());
  if (!found) return 0;
  return static_cast<std::uint64_t>(
      std::count_if(found->begin(), found->end(), [](const auto& one) { return one.has_value(); }));
}
bool stores(const OpenedTier& tier, std::int64_t gen) {
  return comes_true([&] { return tier->store(entries(gen), soon()).has_value(); });
}
std::string with_login(std::string url, const std::string& login) {
  return url.insert(url.find("://") + 3, login + "@");
}

/// The line of the how-to page that gives a user to the sentinels.
std::string documented_sentinel_user() {
  std::ifstream page(GEONCE_SOURCE_DIR "/docs/how-to/share-a-cache-in-redis.md");
  for (std::string line; std::getline(page, line);)
    if (const auto at = line.find("user geonce "); at != std::string::npos) return line.substr(at);
  return {};
}

class RedisGuarded : public ::testing::Test {
 protected:
  [[nodiscard]] RedisTlsFiles files() const {
    return {certificates_.file("ca.crt"),
            certificates_.file("client.crt"),
            certificates_.file("client.key")};
  }
  [[nodiscard]] OpenedTier open(const std::string& url) const {
    return open_tier(url, milliseconds{500}, {}, files());
  }
  const Certificates certificates_;
};

TEST_F(RedisGuarded, a_cluster_that_speaks_tls_is_followed_to_the_replica_of_a_dead_master) {
  RedisClusterServers servers({"right-word", certificates_.folder()});
  const OpenedTier tier = open(with_login(servers.url(), ":right-word"));
  ASSERT_TRUE(stores(tier, 1)) << tier.all();
  EXPECT_EQ(hits(*tier.tier), kCount);
  for (RedisServer* master : servers.masters())
    ASSERT_EQ(master->command({"WAIT", "1", "5000"}), "1");
  servers.masters()[0]->kill();
  EXPECT_TRUE(comes_true([&] { return hits(*tier.tier) == kCount; })) << tier.all();
  EXPECT_TRUE(stores(tier, 2)) << tier.all();

  const OpenedTier stranger = open_tier(with_login(servers.url(), ":right-word"));
  EXPECT_TRUE(comes_true([&] { return stranger.noticed("its certificate is refused") == 1; }))
      << stranger.all();
}

TEST_F(RedisGuarded, a_slot_that_moves_is_followed_to_the_tls_port_of_where_it_went) {
  RedisClusterServers servers({"", certificates_.folder()});
  const OpenedTier tier = open(servers.url());
  ASSERT_TRUE(stores(tier, 1)) << tier.all();
  const auto masters = servers.masters();
  const auto id = masters[1]->command({"CLUSTER", "MYID"});
  // All of the first one's slots, at once and without their keys: MOVED.
  for (int number = 0; number < static_cast<int>(kRedisSlots); ++number) {
    const auto slot = std::to_string(number);
    if (masters[0]->command({"CLUSTER", "COUNTKEYSINSLOT", slot}) == "0") continue;
    masters[0]->command({"FLUSHALL"});
    for (RedisServer* master : {masters[1], masters[0]})
      ASSERT_EQ(master->command({"CLUSTER", "SETSLOT", slot, "NODE", id}), "OK");
    break;
  }
  EXPECT_TRUE(stores(tier, 2)) << tier.all();
  EXPECT_EQ(hits(*tier.tier), kCount);
  EXPECT_EQ(tier.noticed("left alone"), 0U) << tier.all();
}

TEST_F(RedisGuarded, sentinels_that_speak_tls_lead_to_the_master_that_is_promoted) {
  const RedisAccess access{"", certificates_.folder()};
  RedisSentinelServers servers(access, access);
  const OpenedTier tier = open(servers.url());
  ASSERT_TRUE(stores(tier, 1)) << tier.all();
  ASSERT_EQ(servers.master->command({"WAIT", "1", "5000"}), "1");
  servers.master->kill();
  EXPECT_TRUE(comes_true([&] { return hits(*tier.tier) == kCount; })) << tier.all();
  EXPECT_TRUE(stores(tier, 2)) << tier.all();
  EXPECT_EQ(servers.replica->info("role"), "master");
}

TEST_F(RedisGuarded, sentinels_have_a_password_of_their_own) {
  RedisSentinelServers servers({"node-word", {}}, {"sentinel-word", {}});
  const auto open_with = [&](const std::string& user, const std::string& password) {
    auto target = *parse_redis_url(with_login(servers.url(), ":node-word"));
    target.sentinel_user = user;
    target.sentinel_password = password;
    return open_tier(std::move(target), milliseconds{500});
  };
  const OpenedTier right = open_with("", "sentinel-word");
  ASSERT_TRUE(stores(right, 1)) << right.all();
  EXPECT_EQ(hits(*right.tier), kCount);
  const OpenedTier wrong = open_with("", "node-word");
  EXPECT_TRUE(comes_true([&] { return wrong.noticed("it refuses us: WRONGPASS") == 1; }))
      << wrong.all();
  EXPECT_EQ(wrong.noticed("-word"), 0U) << wrong.all();
  const OpenedTier none = open_with("", "");
  EXPECT_TRUE(comes_true([&] { return none.noticed("it refuses us: NOAUTH") == 1; })) << none.all();
}

TEST_F(RedisGuarded, the_rights_that_the_docs_give_a_user_of_the_sentinels_are_enough) {
  const auto user = documented_sentinel_user();
  ASSERT_NE(user, "");
  RedisSentinelServers servers({}, {"others-word", {}}, user + "\n");
  auto target = *parse_redis_url(servers.url());
  target.sentinel_user = "geonce";
  target.sentinel_password = "PASSWORD";
  const OpenedTier tier = open_tier(std::move(target), milliseconds{500});
  ASSERT_TRUE(stores(tier, 1)) << tier.all();
  EXPECT_EQ(hits(*tier.tier), kCount);
}

}  // namespace
}  // namespace geonce

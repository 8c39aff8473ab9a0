#include "io/redis_url.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

using Kind = RedisTarget::Kind;

TEST(RedisUrl, names_one_server) {
  const auto target = parse_redis_url("redis://cache:7000/3");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->kind, Kind::standalone);
  EXPECT_FALSE(target->tls);
  EXPECT_EQ(target->endpoints, (std::vector<RedisEndpoint>{{"cache", 7000, ""}}));
  EXPECT_EQ(target->database, 3);
  EXPECT_EQ(parse_redis_url("redis://cache")->endpoints.front().port, 6379);
  EXPECT_EQ(parse_redis_url("redis://[::1]:7000")->endpoints.front(),
            (RedisEndpoint{"::1", 7000, ""}));
  EXPECT_TRUE(parse_redis_url("rediss://cache")->tls);
}

TEST(RedisUrl, carries_user_and_password) {
  const auto both = parse_redis_url("redis://me:p%40ss%25@cache");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->user, "me");
  EXPECT_EQ(both->password, "p@ss%");
  const auto plain_at = parse_redis_url("redis://me:a@b/c@cache:1/2");
  ASSERT_TRUE(plain_at);
  EXPECT_EQ(plain_at->password, "a@b/c");
  EXPECT_EQ(plain_at->endpoints.front().host, "cache");
  const auto alone = parse_redis_url("redis://:secret@cache");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->user, "");
  EXPECT_EQ(alone->password, "secret");
}

TEST(RedisUrl, names_a_socket_sentinels_or_a_cluster) {
  const auto local = parse_redis_url("unix:///run/redis.sock?db=2");
  ASSERT_TRUE(local);
  EXPECT_EQ(local->endpoints.front(), (RedisEndpoint{"", 0, "/run/redis.sock"}));
  EXPECT_EQ(local->database, 2);
  const auto sentinels = parse_redis_url("redis+sentinel://a,b:5/main/1");
  ASSERT_TRUE(sentinels);
  EXPECT_EQ(sentinels->kind, Kind::sentinel);
  EXPECT_EQ(sentinels->master, "main");
  EXPECT_EQ(sentinels->endpoints, (std::vector<RedisEndpoint>{{"a", 26379, ""}, {"b", 5, ""}}));
  EXPECT_EQ(sentinels->database, 1);
  const auto cluster = parse_redis_url("rediss+cluster://a,b");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->kind, Kind::cluster);
  EXPECT_TRUE(cluster->tls);
}

TEST(RedisUrl, is_refused_without_being_repeated) {
  for (const char* url : {"",
                          "cache:6379",
                          "http://secret@cache",
                          "redis://secret@",
                          "redis://:secret@cache:99999",
                          "redis://:secret@cache:0",
                          "redis://:secret@cache:port",
                          "redis://:secret%@cache",
                          "redis://:secret@cache/db",
                          "redis://:secret@a,b",
                          "redis+sentinel://:secret@a",
                          "redis+cluster://:secret@a/1",
                          "redis+other://:secret@a",
                          "unix://:secret@"}) {
    const auto target = parse_redis_url(url);
    ASSERT_FALSE(target) << url;
    EXPECT_EQ(target.error().code, ErrorCode::invalid_config);
    EXPECT_EQ(target.error().message.find("secret"), std::string::npos) << target.error().message;
  }
}

TEST(RedisUrl, is_shown_without_password) {
  EXPECT_EQ(to_text(*parse_redis_url("redis://me:secret@cache/1")), "cache:6379");
  EXPECT_EQ(to_text(*parse_redis_url("redis+cluster://me:secret@a,[::1]")),
            "cluster a:6379,[::1]:6379");
  EXPECT_EQ(to_text(*parse_redis_url("redis+sentinel://me:secret@a/main")),
            "main by the sentinels a:26379");
}

}  // namespace
}  // namespace geonce

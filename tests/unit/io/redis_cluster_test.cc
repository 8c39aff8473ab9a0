#include "io/redis_cluster.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

// The slots are what CLUSTER KEYSLOT of redis-server 7.0.15 says.
TEST(RedisCluster, files_a_key_as_the_servers_do) {
  EXPECT_EQ(redis_slot(""), 0);
  EXPECT_EQ(redis_slot("123456789"), 12739);
  EXPECT_EQ(redis_slot("foo"), 12182);
  EXPECT_EQ(redis_slot("{foo}bar"), 12182);
  EXPECT_EQ(redis_slot("a{foo}{bar}"), 12182);
  EXPECT_EQ(redis_slot("{}foo"), 9500);
  EXPECT_EQ(redis_slot("foo{"), 7673);
  EXPECT_EQ(redis_slot("\xFF\x80\xFE"), 6698);
}

RedisReply whole(RedisReplies& replies,
                 std::string_view bytes,
                 std::optional<HeldRedisReply>& held) {
  replies.feed(bytes);
  auto next = replies.next();
  EXPECT_TRUE(next && *next);
  held = std::move(**next);
  return held->look();
}

TEST(RedisCluster, reads_who_serves_which_slots) {
  RedisReplies replies;
  std::optional<HeldRedisReply> held;
  const auto shards =
      read_redis_shards(whole(replies,
                              "*3\r\n"
                              "*4\r\n:0\r\n:99\r\n*3\r\n$1\r\na\r\n:7000\r\n$2\r\nid\r\n*3\r\n$"
                              "1\r\nz\r\n:7009\r\n$2\r\nid\r\n"
                              "*3\r\n:100\r\n:16383\r\n*3\r\n$0\r\n\r\n:7001\r\n$2\r\nid\r\n"
                              "*3\r\n:200\r\n:200\r\n*3\r\n$1\r\na\r\n:7000\r\n$2\r\nid\r\n",
                              held),
                        {"asked", 1, {}});
  ASSERT_TRUE(shards) << shards.error().message;
  ASSERT_EQ(shards->size(), 2U);
  EXPECT_EQ((*shards)[0].master, (RedisEndpoint{"a", 7000, ""}));
  EXPECT_EQ((*shards)[0].slots.size(), 2U);
  EXPECT_EQ((*shards)[1].master, (RedisEndpoint{"asked", 7001, ""})) << "its own host left out";
}

TEST(RedisCluster, refuses_a_list_of_slots_that_is_none) {
  for (const char* bytes : {"*0\r\n",
                            ":1\r\n",
                            "$-1\r\n",
                            "*1\r\n*1\r\n:0\r\n",
                            "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
                            "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
                            "*1\r\n*3\r\n:0\r\n:4\r\n*2\r\n$1\r\na\r\n:70000\r\n"}) {
    RedisReplies replies;
    std::optional<HeldRedisReply> held;
    EXPECT_FALSE(read_redis_shards(whole(replies, bytes, held), {"asked", 1, {}})) << bytes;
  }
}

TEST(RedisCluster, follows_where_a_server_sends_us) {
  const RedisEndpoint asked{"asked", 7000, {}};
  const auto moved = read_redis_redirect("MOVED 3999 10.0.0.1:6381", asked);
  ASSERT_TRUE(moved);
  EXPECT_FALSE(moved->only_once);
  EXPECT_EQ(moved->to, (RedisEndpoint{"10.0.0.1", 6381, ""}));
  const auto ask = read_redis_redirect("ASK 3999 ::1:6381", asked);
  ASSERT_TRUE(ask);
  EXPECT_TRUE(ask->only_once);
  EXPECT_EQ(ask->to, (RedisEndpoint{"::1", 6381, ""}));
  EXPECT_EQ(read_redis_redirect("MOVED 1 :6381", asked)->to, (RedisEndpoint{"asked", 6381, ""}));
  for (const char* text : {"", "MOVED", "MOVED 1", "MOVED 1 host:port", "ERR no", "ASKING 1 a:1"})
    EXPECT_FALSE(read_redis_redirect(text, asked)) << text;
}

TEST(RedisReplies, come_whole_however_they_are_cut) {
  const std::string_view bytes = "*3\r\n$3\r\none\r\n$-1\r\n:42\r\n-ERR bad\r\n";
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    RedisReplies replies;
    std::vector<HeldRedisReply> all;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      replies.feed(bytes.substr(at, size));
      for (auto next = replies.next(); next && *next; next = replies.next())
        all.push_back(std::move(**next));
    }
    ASSERT_EQ(all.size(), 2U);
    const RedisReply list = all[0].look();
    EXPECT_EQ(list.size(), 3U);
    EXPECT_EQ(list.at(0).text(), "one");
    EXPECT_TRUE(list.at(1).is_nil());
    EXPECT_EQ(list.at(2).integer(), 42);
    EXPECT_TRUE(list.at(3).is_nil()) << "past the end";
    EXPECT_TRUE(all[1].look().is_error());
  }
}

TEST(RedisReplies, of_another_protocol_are_an_error) {
  RedisReplies replies;
  replies.feed("HTTP/1.1 400 Bad Request\r\n\r\n");
  const auto next = replies.next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::io_failed);
}

}  // namespace
}  // namespace geonce

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/redis_server.h"
#include "support/temp_dir.h"

namespace geonce {

/// Files `NAME.crt` and `NAME.key` in a folder of their own: the authority `ca`, and by it `server`
/// for this machine and `client`.
class Certificates {
 public:
  Certificates() {
    make_authority("ca");
    make("server", "ca", "IP:127.0.0.1,DNS:localhost");
    make("client", "ca", "DNS:client");
  }
  [[nodiscard]] std::string file(const std::string& name) const { return dir_.file(name); }
  [[nodiscard]] std::string folder() const { return dir_.path(); }

  void make_authority(const std::string& name) const {
    openssl({"req",
             "-x509",
             "-newkey",
             "rsa:2048",
             "-nodes",
             "-days",
             "2",
             "-subj",
             "/CN=" + name,
             "-keyout",
             file(name + ".key"),
             "-out",
             file(name + ".crt")});
  }
  void make(const std::string& name, const std::string& authority, const std::string& names) const {
    dir_.write(name + ".ext", "subjectAltName=" + names);
    openssl({"req",
             "-newkey",
             "rsa:2048",
             "-nodes",
             "-subj",
             "/CN=" + name,
             "-keyout",
             file(name + ".key"),
             "-out",
             file(name + ".csr")});
    openssl({"x509",
             "-req",
             "-in",
             file(name + ".csr"),
             "-CA",
             file(authority + ".crt"),
             "-CAkey",
             file(authority + ".key"),
             "-CAcreateserial",
             "-days",
             "2",
             "-extfile",
             file(name + ".ext"),
             "-out",
             file(name + ".crt")});
  }

 private:
  void openssl(std::vector<std::string> words) const {
    words.insert(words.begin(), "openssl");
    ASSERT_EQ(run_program(words, file("log")), 0) << dir_.read("log");
  }

  TempDir dir_;
};

}  // namespace geonce

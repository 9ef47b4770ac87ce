// OpenSSL objects that free themselves. Only .cc files of this module include this.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

namespace tidemark::net {

template <auto Function>
struct FreeBy {
  template <class T>
  void operator()(T* object) const {
    Function(object);
  }
};
using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;

// A password callback without a password. OpenSSL's default asks on the terminal.
inline int no_password(char*, int, int, void*) {
  return 0;
}

}  // namespace tidemark::net

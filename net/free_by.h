// A deleter of std::unique_ptr that calls a C function: std::unique_ptr<BIO, FreeBy<BIO_free_all>>.
#pragma once

namespace tidemark::net {

template <auto Function>
struct FreeBy {
  template <class T>
  void operator()(T* object) const {
    Function(object);
  }
};

}  // namespace tidemark::net

// Memory that nobody has touched yet: the member of a team that writes it first decides on which
// memory node its pages lie.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace resident::cpu {

inline constexpr std::size_t cache_line = 64;

// `size` uninitialised entries, aligned to cache lines; large buffers to huge pages, which gathers
// from long vectors need. Throws std::bad_alloc.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : data_(allocate(size)), size_(size) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };

  static T* allocate(std::size_t size) {
    constexpr std::size_t huge_page = std::size_t{1} << 21;
    if (size == 0) return nullptr;
    if (size > (static_cast<std::size_t>(-1) - huge_page) / sizeof(T)) throw std::bad_alloc();
    const std::size_t alignment = size * sizeof(T) >= 2 * huge_page ? huge_page : cache_line;
    const std::size_t bytes = (size * sizeof(T) + alignment - 1) / alignment * alignment;
    void* data = std::aligned_alloc(alignment, bytes);
    if (data == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    // Only a wish: where the kernel refuses, small pages serve as well.
    if (alignment == huge_page) static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));
#endif
    return static_cast<T*>(data);
  }

  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace resident::cpu

// Stands in for the GPU backend in builds without CUDA.
#include <resident/error.hpp>

#include "cg/backend.hpp"

namespace resident::cg {

template <class T>
std::unique_ptr<CgBackend<T>> make_gpu_backend(CsrView<T>, std::span<const T>, const CgOptions&) {
  throw Error(ErrorCategory::device, "a GPU was asked for, but this build has no GPU solver");
}

template std::unique_ptr<CgBackend<float>> make_gpu_backend(CsrView<float>, std::span<const float>,
                                                            const CgOptions&);
template std::unique_ptr<CgBackend<double>> make_gpu_backend(CsrView<double>,
                                                             std::span<const double>,
                                                             const CgOptions&);

}  // namespace resident::cg

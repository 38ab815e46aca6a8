// Functions that host and device compile from one source.
#pragma once

#ifdef __CUDACC__
#define RESIDENT_FUNCTION __device__ __forceinline__
#define RESIDENT_HOST_DEVICE __host__ __device__ inline
#else
#define RESIDENT_FUNCTION inline
#define RESIDENT_HOST_DEVICE inline
#endif

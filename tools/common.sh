# Shared by tools/quickstart and tools/test: time-stamped steps, logged commands, the CUDA compiler.

oldest_cuda=12.4
skipped_status=77  # of a check that cannot be made on this machine

step() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*"; }

# logged LOG COMMAND...: what the command prints goes to LOG; on failure its end is shown, without
# ctest's lines about tests that passed or were skipped.
logged() {
  local log=$1 status=0
  shift
  "$@" </dev/null >"$log" 2>&1 || status=$?
  if ((status == skipped_status)); then
    cat "$log"
  elif ((status != 0)); then
    printf -- '--- the end of %s ---\n' "$log"
    grep -vE '^ +Start +[0-9]+:|^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*(Passed|\*\*\*Skipped) |\(Skipped\)$' "$log" |
      tail -n 150
    printf -- '--- failed with status %d: %s\n' "$status" "$*"
  fi
  return "$status"
}

# Sets cuda_options to what CMake needs to be told about the CUDA compiler, and says which it is.
# An nvcc that is missing or too old is no error: the build is then for the CPU alone.
find_cuda() {
  local nvcc version
  nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
  cuda_options=(-DRESIDENT_CUDA=OFF)
  if ! version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p'); then
    step "No CUDA compiler: building for the CPU alone"
  elif [[ $(printf '%s\n' "$oldest_cuda" "$version" | sort -V | head -n 1) != "$oldest_cuda" ]]; then
    step "CUDA $version is older than $oldest_cuda: building for the CPU alone"
  else
    step "CUDA $version: building for GPU and CPU"
    # shellcheck disable=SC2034  # read by the caller
    cuda_options=(-DRESIDENT_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc")
  fi
}

// Everything that the library offers.
#pragma once

#include <resident/conjugate_gradient.hpp>
#include <resident/csr.hpp>
#include <resident/devices.hpp>
#include <resident/error.hpp>
#include <resident/families.hpp>
#include <resident/matrix_info.hpp>
#include <resident/matrix_market.hpp>
#include <resident/version.hpp>

# Everything that .ci/run and .ci/full share. Sourced from the root of the checkout.
# shellcheck shell=bash

# shellcheck source=.ci/lib/setup.sh
source .ci/lib/setup.sh
# shellcheck source=.ci/lib/steps.sh
source .ci/lib/steps.sh
# shellcheck source=.ci/lib/install.sh
source .ci/lib/install.sh
# shellcheck source=.ci/lib/crates.sh
source .ci/lib/crates.sh
# shellcheck source=.ci/lib/basics.sh
source .ci/lib/basics.sh
# shellcheck source=.ci/lib/parts.sh
source .ci/lib/parts.sh

#!/usr/bin/env bash
# Installs the Debian packages that geonce needs, by name. Does nothing where all are there already.
#   scripts/packages.sh build    what it takes to build and run geonce
#   scripts/packages.sh test     that, and what its tests and checks need
#   scripts/packages.sh bench    that, and what bench/recipe needs
set -euo pipefail

build=(
  ca-certificates ccache cmake g++ git mold ninja-build pkg-config
  libboost-json1.81-dev libcli11-dev libcurl4-openssl-dev libexpected-dev libfmt-dev libhiredis-dev
  libicu-dev libpq-dev prometheus-cpp-dev libsqlite3-dev libssl-dev libtomlplusplus-dev
)
tests=(
  clang-14 clang-format-14 clang-tidy-14 faketime libgmock-dev libgtest-dev locales pandoc pgbouncer
  postgresql-15 postgresql-15-postgis-3 python3 python3-geopy python3-jsonschema python3-pytest python3-yaml redis-sentinel redis-server redis-tools zlib1g-dev
)
bench=(python3-hiredis python3-pandas python3-psycopg python3-redis)

case "${1:-}" in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${tests[@]}") ;;
  bench) wanted=("${build[@]}" "${tests[@]}" "${bench[@]}") ;;
  *) echo "usage: $0 build|test|bench" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  [[ $state == ii* ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "packages: all ${#wanted[@]} are installed"
  exit 0
fi

echo "packages: installing ${missing[*]}"
root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "packages: run this as root, or install them yourself" >&2; exit 1; }
  root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
# The package lists of a fresh machine are empty, and old ones name files that are gone.
"${root[@]}" apt-get update --quiet
"${root[@]}" apt-get install --yes --quiet --no-install-recommends "${missing[@]}"

#!/bin/sh
# Libraries of the system that wheels do not bring: what Gmsh and PyVista draw with, SuiteSparse's headers for CHOLMOD.
# Installed where apt-get and root are at hand, else said what is missing; the tests that need them are then skipped.
packages="libglu1-mesa libgl1 libxcursor1 libxinerama1 libxft2 libxrender1 libxfixes3 libsuitesparse-dev gcc libc6-dev"
command -v apt-get >/dev/null 2>&1 || { echo "without apt-get: tests of Gmsh and CHOLMOD may be skipped" >&2; exit 0; }
# shellcheck disable=SC2086
dpkg -s $packages >/dev/null 2>&1 && exit 0
missing="tests of Gmsh or CHOLMOD may be skipped; they need: apt-get install $packages"
root=""
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2>/dev/null || { echo "$missing" >&2; exit 0; }
  root="sudo -n"
fi
export DEBIAN_FRONTEND=noninteractive
install="$root apt-get install -y -qq --no-install-recommends $packages"
$install >/dev/null 2>&1 || { $root apt-get update -qq >/dev/null 2>&1; $install >/dev/null 2>&1; } || echo "$missing" >&2
exit 0

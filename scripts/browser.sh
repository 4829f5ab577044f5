#!/bin/sh
# Chromium for the browser tests: installed where apt-get and root are at hand, else said what is missing.
for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
[ -n "$PINNPOINT_CHROMIUM" ] && exit 0
missing="browser tests will be skipped: no Chromium. Install it (apt-get install chromium) or set PINNPOINT_CHROMIUM."
command -v apt-get >/dev/null 2>&1 || { echo "$missing" >&2; exit 0; }
root=""
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2>/dev/null || { echo "$missing" >&2; exit 0; }
  root="sudo -n"
fi
export DEBIAN_FRONTEND=noninteractive
install="$root apt-get install -y -qq --no-install-recommends chromium"
echo "installing Chromium for the browser tests" >&2
$install >/dev/null 2>&1 || { $root apt-get update -qq >/dev/null 2>&1; $install >/dev/null 2>&1; } || echo "$missing" >&2
exit 0

#!/bin/sh
# Rebuilds src/pinnpoint/report/assets/{viewer,page}.js from web/; needs node and npm, which users do not.
set -eu
cd "$(dirname "$0")/../web"
npm ci --no-audit --no-fund
npm run build

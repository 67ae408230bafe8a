/* oxlint-disable no-console -- it speaks to whoever runs it */
// Holds the API's description against the rules of a public linter (Redocly's), as redocly.yaml chooses them.
//
//   node lint.mjs [DOCUMENT]
//
// DOCUMENT is ../../docs/openapi.json unless given. A finding is printed with its place, and any finding fails. Nothing
// is sent anywhere: this is the linter as a library, without the program around it that looks for newer versions.

import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatProblems, getTotals, lint, loadConfig } from '@redocly/openapi-core';

const here = dirname(fileURLToPath(import.meta.url));
const ref = resolve(process.argv[2] ?? resolve(here, '../../docs/openapi.json'));

const config = await loadConfig({ configPath: resolve(here, 'redocly.yaml') });
const problems = await lint({ ref, config });
const { errors, warnings } = getTotals(problems);
if (errors + warnings > 0) {
  formatProblems(problems, {
    format: 'codeframe',
    totals: { errors, warnings, ignored: 0 },
    version: 'lint',
  });
  process.exit(1);
}
console.log('the linter finds nothing wrong with the OpenAPI document');

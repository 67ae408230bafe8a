// Writes the types of the API from its own description.
//
//   node generate.mjs [OUT] [DOCUMENT]
//
// OUT is ../src/api/schema.d.ts unless given, DOCUMENT is ../../docs/openapi.json. The text depends on the document
// alone. It is written beside OUT and then put in its place, so a run that dies leaves the old file whole.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? resolve(here, '../src/api/schema.d.ts'));
const from = resolve(process.argv[3] ?? resolve(here, '../../docs/openapi.json'));

const head = `// Made from docs/openapi.json by dashboard/tools. Do not edit: run \`make generate\`.\n\n`;
const types = astToString(await openapiTS(JSON.parse(await readFile(from, 'utf8')), { silent: true }));

await mkdir(dirname(out), { recursive: true });
await writeFile(`${out}.new`, head + types);
await rename(`${out}.new`, out);

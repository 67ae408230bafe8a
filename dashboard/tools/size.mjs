/* oxlint-disable no-console -- it speaks to whoever runs it */
// Holds the built dashboard to its size: everything in dist together, gzipped, in at most so many KiB.
//
//   node size.mjs [LIMIT_KIB]

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const limit = Number(process.argv[2] ?? 300);
const dist = resolve(dirname(fileURLToPath(import.meta.url)), '../dist');

const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const content = readFileSync(path);
    return {
      name: relative(dist, path),
      plain: content.length,
      gzipped: gzipSync(content, { level: 9 }).length,
    };
  })
  .toSorted((one, other) => other.gzipped - one.gzipped);

const kib = (bytes) => (bytes / 1024).toFixed(1).padStart(8);
for (const { name, plain, gzipped } of files) {
  console.log(`${kib(plain)} KiB ${kib(gzipped)} KiB gzipped  ${name}`);
}
const total = files.reduce((sum, file) => sum + file.gzipped, 0);
console.log(`the dashboard is ${kib(total).trim()} KiB gzipped, of at most ${limit} KiB`);
if (files.length === 0 || total > limit * 1024) {
  console.error(files.length === 0 ? 'dist is empty' : 'that is too much: see which file grew');
  process.exit(1);
}

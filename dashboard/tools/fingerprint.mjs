/* oxlint-disable no-console -- it speaks to whoever runs it */
// Prints a fingerprint of everything that goes into a build of the dashboard, and of what came out of it.
//
//   node fingerprint.mjs [OUT]
//
// By content, not by time: a clone, a checkout and a copy change times and nothing else. What came out is part of it, so that
// an OUT (../dist) that somebody built by hand from other sources is not taken for this one.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const dashboard = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const out = resolve(process.argv[2] ?? join(dashboard, 'dist'));

// What is at the top and no source of the build: other packages, what is made, notes of ours.
const apart = new Set(['node_modules', 'e2e', 'tools', 'coverage']);
const isSource = (path) => !/\.test\.tsx?$/.test(path);

function* filesBelow(directory, skip = () => false) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (skip(entry.name)) continue;
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}

function hashOf(directory, files) {
  const hash = createHash('sha256');
  for (const file of [...files].toSorted()) {
    const content = readFileSync(file);
    hash.update(`${relative(directory, file)}\0${content.length}\0`);
    hash.update(content);
  }
  return hash.digest('hex');
}

const sources = filesBelow(
  dashboard,
  (name) => apart.has(name) || name.startsWith('dist') || name.startsWith('.built'),
);
const from = hashOf(dashboard, [...sources].filter(isSource));
let made = 'nothing';
try {
  made = hashOf(out, filesBelow(out));
} catch {
  // Not built yet.
}
console.log(`node ${process.versions.node.split('.')[0]} from ${from} made ${made}`);

// Says by its exit code whether a package's node_modules is what its lock file asks for.
//
//   node installed.mjs DIRECTORY
//
// npm writes what it has installed into node_modules/.package-lock.json, at the very end: without that file an install
// was not finished. So no stamp of ours is needed, and a node_modules that somebody made by hand counts as well.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [directory = '.'] = process.argv.slice(2);

function packagesOf(file) {
  return JSON.parse(readFileSync(join(directory, file), 'utf8')).packages;
}

let there;
try {
  there = packagesOf('node_modules/.package-lock.json');
} catch {
  process.exit(1);
}
const missing = Object.entries(packagesOf('package-lock.json')).filter(
  ([path, wanted]) =>
    path !== '' &&
    // Those for another system are in the lock file and not here.
    !(wanted.optional && there[path] === undefined) &&
    (there[path]?.version !== wanted.version || there[path]?.integrity !== wanted.integrity),
);
process.exit(missing.length === 0 ? 0 : 1);

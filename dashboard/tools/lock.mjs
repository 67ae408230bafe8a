/* oxlint-disable no-console -- it speaks to whoever runs it */
// Holds the lock files to what `npm ci` needs on every machine.
//
//   node lock.mjs check    says what is wrong with ../package-lock.json and package-lock.json
//   node lock.mjs mend     writes what is missing; asks the registry for hashes
//
// Some packages come in a version for each system, as optional dependencies. npm writes down those that its registry had when
// the lock file was made; a registry that keeps only some leaves holes, and `npm ci` then refuses the whole file, everywhere.
// Here the holes are filled: the version is the one asked for, the system is in the name. No registry is named: whoever installs
// may have one of their own.
//
// Every package has the hash of what it must be. Without one npm installs whatever the registry sends, and some of these packages are
// native code that runs when the dashboard is built. A registry that does not have a version for some system cannot tell its hash:
// then take versions of which it has them all.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SYSTEMS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const CPUS = ['arm64', 'arm', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

/** What a package for one system says of itself, read from its name: @rolldown/binding-linux-x64-musl. */
function systemOf(name) {
  const words = name.split('-');
  const system = {};
  const cpu = CPUS.find((it) => words.includes(it));
  if (cpu !== undefined) system.cpu = [cpu];
  if (words.includes('gnu') || words.includes('gnueabihf')) system.libc = ['glibc'];
  if (words.includes('musl') || words.includes('musleabihf')) system.libc = ['musl'];
  const os = SYSTEMS.find((it) => words.includes(it));
  if (os !== undefined) system.os = [os];
  return system;
}

/** The hash that the registry has for a package; undefined if it does not have the package. */
function askForHash(name, version) {
  try {
    const words = ['view', `${name}@${version}`, 'dist.integrity', '--silent'];
    const said = execFileSync('npm', words, { encoding: 'utf8' }).trim();
    return said.startsWith('sha512-') ? said : undefined;
  } catch {
    return undefined;
  }
}

/** What is wrong with a lock file; all of it is put right in `lock`, but for hashes that `hashOf` does not know. */
function look(lock, hashOf) {
  const wrong = [];
  const unknown = [];
  for (const [of, { dev, optionalDependencies = {} }] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      if (`node_modules/${name}` in lock.packages || `${of}/node_modules/${name}` in lock.packages) continue;
      wrong.push(`${name} ${version} is missing`);
      lock.packages[`node_modules/${name}`] = {
        version,
        ...(dev && { dev }),
        optional: true,
        ...systemOf(name),
      };
    }
  }
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (entry.resolved?.startsWith('http')) wrong.push(`${path} names a registry: ${entry.resolved}`);
    delete entry.resolved;
    // What lies inside another package comes with it, under that package's hash. The first entry is this package itself.
    if (path === '' || entry.inBundle || entry.integrity?.startsWith('sha512-')) continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    wrong.push(`${name} ${entry.version} has no sha512 hash`);
    const hash = hashOf(name, entry.version);
    if (hash === undefined) unknown.push(`${name} ${entry.version}: the registry does not tell its hash`);
    else entry.integrity = hash;
  }
  return { wrong, unknown };
}

const mends = process.argv[2] === 'mend';
let failed = false;
for (const file of ['../package-lock.json', 'package-lock.json']) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const lock = JSON.parse(readFileSync(path, 'utf8'));
  const { wrong, unknown } = look(lock, mends ? askForHash : () => undefined);
  if (wrong.length === 0) continue;
  if (mends) {
    const packages = Object.entries(lock.packages).toSorted(([one], [other]) =>
      one.localeCompare(other, 'en'),
    );
    lock.packages = Object.fromEntries(packages);
    writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
    console.log(`mended ${path}:\n  ${wrong.join('\n  ')}`);
    if (unknown.length > 0) console.error(`not mended:\n  ${unknown.join('\n  ')}`);
    failed ||= unknown.length > 0;
  } else {
    console.error(`${path}:\n  ${wrong.join('\n  ')}\nrun \`node dashboard/tools/lock.mjs mend\``);
    failed = true;
  }
}
if (failed) process.exitCode = 1;
else if (!mends) console.log('the lock files are whole');

/* oxlint-disable no-console -- it speaks to whoever runs it */
// Holds the lock file to what `npm ci` asks of it, on every machine.
//
//   node lock.mjs check    says what is wrong with ../package-lock.json
//   node lock.mjs mend     writes what is missing
//
// Some packages come in a version for each system, as optional dependencies. npm writes down those that its registry had when
// the lock file was made; a registry that keeps only some leaves holes, and `npm ci` then refuses the whole file, everywhere.
// Here the holes are filled: the version is the one asked for, the system is in the name. And no registry is named: whoever
// installs may have one of their own.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = fileURLToPath(new URL('../package-lock.json', import.meta.url));
const text = readFileSync(path, 'utf8');
const lock = JSON.parse(text);

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

const wrong = [];
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
for (const [name, entry] of Object.entries(lock.packages)) {
  if (entry.resolved?.startsWith('http')) wrong.push(`${name} names a registry: ${entry.resolved}`);
  delete entry.resolved;
}

if (wrong.length === 0) {
  console.log('the lock file is whole');
} else if (process.argv[2] === 'mend') {
  const packages = Object.entries(lock.packages).toSorted(([one], [other]) => one.localeCompare(other, 'en'));
  lock.packages = Object.fromEntries(packages);
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`mended:\n  ${wrong.join('\n  ')}`);
} else {
  console.error(`package-lock.json:\n  ${wrong.join('\n  ')}\nrun \`node dashboard/tools/lock.mjs mend\``);
  process.exit(1);
}

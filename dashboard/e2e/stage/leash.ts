// What this process starts and makes goes with it (see reaper.mjs).

import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const reaper = spawn(process.execPath, [fileURLToPath(new URL('reaper.mjs', import.meta.url))], {
  detached: true,
  stdio: ['pipe', 'ignore', 'inherit'],
});
reaper.unref();
// Its pipe keeps nothing alive either: this process ends when its tests have.
(reaper.stdin as unknown as { unref(): void }).unref();

export function holds(pid: number): void {
  reaper.stdin.write(`process ${pid}\n`);
}

export function letsGo(pid: number): void {
  reaper.stdin.write(`gone ${pid}\n`);
}

/** A directory that is removed at the end. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'foreman-e2e-'));
  reaper.stdin.write(`directory ${directory}\n`);
  return directory;
}

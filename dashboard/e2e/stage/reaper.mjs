// Ends what a test process started, whatever ends that process: an error, Ctrl-C, SIGKILL.
//
// It stands in a session of its own, so Ctrl-C does not reach it, and reads lines: `process PID`, `gone PID`, `directory PATH`.
// When its input ends, the process that wrote it has ended too. Then it kills the processes that are left, if they are
// still those it was told of, and removes the directories.

import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const processes = new Map();
const directories = [];

/** When a process started, in ticks since boot: pids come again, this does not. Where it cannot be told, the pid must do. */
function born(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [what, ...rest] = line.split(' ');
  const value = rest.join(' ');
  if (what === 'process') processes.set(Number(value), born(value));
  if (what === 'gone') processes.delete(Number(value));
  if (what === 'directory') directories.push(value);
}
for (const [pid, birth] of processes) {
  try {
    if (born(pid) === birth) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
for (const directory of directories) rmSync(directory, { recursive: true, force: true, maxRetries: 20 });

import { expect, test } from 'vitest';
import { safeNext } from './next';

const HERE = 'https://jobs.example.com';

test.each([
  ['/jobs?queue=letters', '/jobs?queue=letters'],
  ['/schedules/abc#history', '/schedules/abc#history'],
  ['/', '/'],
  ['/jobs?next=https://evil.example', '/jobs?next=https://evil.example'],
])('%j is ours and followed', (next, path) => {
  expect(safeNext(next, HERE)).toBe(path);
});

test.each([
  'https://evil.example/',
  '//evil.example/',
  '///evil.example/',
  '/\\evil.example/',
  '/\t/evil.example/',
  '/\n/evil.example/',
  '/.//evil.example/',
  '/x/..//evil.example/',
  'javascript:alert(1)',
  ' /jobs',
  'jobs',
  '',
  '/sign-in',
  '/sign-in?next=/sign-in',
  undefined,
  null,
  7,
])('%j leads home', (next) => {
  expect(safeNext(next, HERE)).toBe('/');
});

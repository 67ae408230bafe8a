// What the server found wrong, for as long as it has not been changed.
import { ApiError } from '@/api/problem';
import type { Mistakes } from './spec';

/** A mistake goes away when the value that it is about is no longer the one that was sent. */
export function stillWrong(error: unknown, sent: unknown, now: unknown): Mistakes {
  if (!(error instanceof ApiError)) return {};
  const found: Record<string, string> = {};
  for (const { pointer, detail } of error.mistakes) {
    if (JSON.stringify(at(sent, pointer)) === JSON.stringify(at(now, pointer))) found[pointer] = detail;
  }
  return found;
}

/** Whether it is told whole, for it names no place. */
export function isPlaceless(error: unknown): boolean {
  return error !== null && !(error instanceof ApiError && error.mistakes.length > 0);
}

/** Those below a pointer, with pointers that begin there: `/job/url` becomes `/url`. */
export function below(mistakes: Mistakes, prefix: string): Mistakes {
  return Object.fromEntries(
    Object.entries(mistakes)
      .filter(([pointer]) => pointer.startsWith(`${prefix}/`))
      .map(([pointer, detail]) => [pointer.slice(prefix.length), detail]),
  );
}

/** Those that no field of the form shows. */
export function elsewhere(mistakes: Mistakes, shown: readonly string[]): string[] {
  return Object.entries(mistakes)
    .filter(([pointer]) => !shown.some((each) => pointer === each || pointer.startsWith(`${each}/`)))
    .map(([pointer, detail]) => (pointer === '' ? detail : `${pointer}: ${detail}`));
}

function at(document: unknown, pointer: string): unknown {
  let value = document;
  for (const part of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return value;
}

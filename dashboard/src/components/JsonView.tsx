import { useMemo } from 'react';
import { Code } from './Code';

/** Any JSON, laid out. Text that is JSON inside is laid out too; other text is shown as it is. */
export function JsonView({ label, value }: { label: string; value: unknown }) {
  const text = useMemo(() => laidOut(value), [value]);
  return <Code label={label} text={text} wrap />;
}

export function laidOut(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? 'null';
  try {
    const inside: unknown = JSON.parse(value);
    return typeof inside === 'object' && inside !== null ? JSON.stringify(inside, null, 2) : value;
  } catch {
    return value;
  }
}

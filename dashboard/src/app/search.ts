// What stands behind `?`, as plain text: `?state=dead&tag=eu`, with no quotes or JSON in it.

export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const kept = Object.entries(search).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

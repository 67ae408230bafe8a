// Times and durations for people.

const UNITS: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** At most two units: `3d 4h`, `1m 5s`, `240 ms`. */
export function durationText(milliseconds: number): string {
  const size = Math.abs(milliseconds);
  if (size < 1_000) return `${Math.round(size)} ms`;
  if (size < 10_000) return `${(size / 1_000).toFixed(1).replace(/\.0$/, '')}s`;
  const rounded = Math.round(size / 1_000) * 1_000;
  const at = UNITS.findIndex(([, unit]) => rounded >= unit);
  const [name, unit] = UNITS[at] ?? ['s', 1_000];
  const whole = Math.floor(rounded / unit);
  const next = UNITS[at + 1];
  if (next === undefined) return `${whole}${name}`;
  const part = Math.floor((rounded - whole * unit) / next[1]);
  return part === 0 ? `${whole}${name}` : `${whole}${name} ${part}${next[0]}`;
}

/** `just now`, `12s ago`, `in 3h`. One unit is enough. */
export function relativeText(at: number, now: number): string {
  const distance = at - now;
  const size = Math.abs(distance);
  if (size < 2_000) return 'just now';
  const [name, unit] = UNITS.find(([, each]) => size >= each) ?? ['s', 1_000];
  const text = `${Math.floor(size / unit)}${name}`;
  return distance < 0 ? `${text} ago` : `in ${text}`;
}

const ABSOLUTE = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
});

/** In the reader's zone, and to the letter in UTC. */
export function absoluteText(at: string): string {
  return `${ABSOLUTE.format(new Date(at))} · ${at}`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export function clockText(at: string): string {
  return CLOCK.format(new Date(at));
}

/** The server's own spelling, `1h2m3s` or `3m12s` or `1.5s`, in milliseconds. */
export function parseDuration(text: string): number | null {
  const factors: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
  let total = 0;
  let rest = text.trim();
  if (rest === '') return null;
  while (rest !== '') {
    const match = /^(\d+(?:\.\d+)?)(ms|d|h|m|s)\s*/.exec(rest);
    if (match === null) return null;
    total += Number(match[1]) * (factors[match[2] ?? ''] ?? 0);
    rest = rest.slice(match[0].length);
  }
  return total;
}

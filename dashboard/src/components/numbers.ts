// Numbers for people.

const WHOLE = new Intl.NumberFormat('en');
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** To the last digit while that is readable, then `1.2M`. */
export function countText(count: number): string {
  return Math.abs(count) < 100_000 ? WHOLE.format(count) : SHORT.format(count);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

import { durationText } from './time';
import { useNow } from './useNow';

/** How long something took; while it goes on, how long so far. */
export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span className="text-faint">–</span>;
  return <span className="tabular whitespace-nowrap">{durationText(ms)}</span>;
}

export function RunningFor({ since }: { since: string }) {
  const now = useNow();
  return <Duration ms={Math.max(0, now - Date.parse(since))} />;
}

/** Counts down to a moment, and says so when it has come. */
export function Countdown({ to, over }: { to: string; over: string }) {
  const left = Date.parse(to) - useNow();
  if (left <= 0) return <span>{over}</span>;
  return (
    <time dateTime={to} title={to} className="tabular whitespace-nowrap">
      {durationText(Math.ceil(left / 1_000) * 1_000)}
    </time>
  );
}

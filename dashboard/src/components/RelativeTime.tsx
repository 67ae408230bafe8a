import { clsx } from 'clsx';
import { absoluteText, relativeText } from './time';
import { useNow } from './useNow';

/** How long ago, or how soon; the time itself on hover. */
export function RelativeTime({ at, className }: { at: string | null | undefined; className?: string }) {
  const now = useNow();
  if (at === null || at === undefined) return <span className="text-faint">–</span>;
  return (
    <time dateTime={at} title={absoluteText(at)} className={clsx('tabular whitespace-nowrap', className)}>
      {relativeText(Date.parse(at), now)}
    </time>
  );
}

import { CalendarClock, Info } from 'lucide-react';
import type { Preview } from '@/api/documents';
import { Skeleton } from '@/components/Skeleton';
import { RelativeTime } from '@/components/RelativeTime';

interface PreviewPaneProps {
  preview: Preview | undefined;
  isLoading: boolean;
  /** Something is wrong with what was written; the fields say what. */
  isWrong: boolean;
}

/** When it would fire, in words and as the next times. */
export function PreviewPane({ preview, isLoading, isWrong }: PreviewPaneProps) {
  return (
    <section
      aria-label="Preview"
      aria-live="polite"
      aria-busy={isLoading}
      className="rounded-lg border bg-bg p-4 text-sm"
    >
      <h3 className="mb-2 flex items-center gap-2 font-semibold">
        <CalendarClock aria-hidden className="size-4 text-muted" />
        It would fire
      </h3>
      {preview === undefined ? (
        <div className="text-muted">
          {isWrong && 'No preview: correct the field in red.'}
          {!isWrong && isLoading && <Skeleton className="h-4 w-2/3" />}
          {!isWrong && !isLoading && 'Enter a time to see the next fires here.'}
        </div>
      ) : (
        <>
          <p className="font-medium">{preview.description}</p>
          <FireList fires={preview.items} />
        </>
      )}
    </section>
  );
}

export function FireList({ fires }: { fires: Preview['items'] }) {
  if (fires.length === 0) return <p className="mt-2 text-muted">Never: it has no time to come.</p>;
  return (
    <ol className="mt-2 divide-y">
      {fires.map(({ at, local, note }) => (
        <li key={at} className="flex flex-wrap items-baseline gap-x-3 py-1">
          <span className="tabular">{localWords(local)}</span>
          <RelativeTime at={at} className="ml-auto text-xs text-faint" />
          {note !== null && note !== undefined && (
            <span className="flex w-full items-start gap-1 text-xs text-warn">
              <Info aria-hidden className="mt-0.5 size-3 shrink-0" />
              {note}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

const DATE = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
});

/** On the clocks of the schedule's zone, which may not be the reader's: read as it stands, with its offset. */
export function localWords(local: string): string {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(.*)$/.exec(local);
  if (match === null) return local;
  const [, time = '', offset = ''] = match;
  const words = DATE.format(new Date(`${time}Z`)).replace(/:00$/, '');
  return `${words} ${offset === '+00:00' || offset === 'Z' ? 'UTC' : offset}`;
}

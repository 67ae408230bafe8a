import { clsx } from 'clsx';
import { useMemo, type ReactNode } from 'react';
import { plural } from '@/components/numbers';
import { absoluteText } from '@/components/time';
import { axis, track, type Span } from './strip';

export interface StripRow {
  id: string;
  /** `null` where there is but one, and the place says which. */
  name: ReactNode;
  fires: { at: string }[] | undefined;
}

interface FireStripProps {
  label: string;
  span: Span;
  rows: StripRow[];
  /** How many fires of each were asked for. */
  asked: number;
}

/** Fires on a line of time, one line each. Whoever does not see it reads a list. */
export function FireStrip({ label, span, rows, asked }: FireStripProps) {
  const ticks = axis(span, 7);
  const isNamed = rows.some(({ name }) => name !== null);
  return (
    <div className="min-w-0">
      <div aria-hidden className={clsx('relative mb-1 h-4', isNamed && 'sm:ml-44')}>
        {/* A word at the very edge would stick out. */}
        {ticks
          .filter(({ left }) => left > 4 && left < 96)
          .map(({ at, left }) => (
            <span
              key={at}
              style={{ left: `${left}%` }}
              className="tabular absolute -translate-x-1/2 text-2xs whitespace-nowrap text-faint"
            >
              {(span.to - span.from > 86_400_000 * 2 ? DAY : CLOCK).format(new Date(at))}
            </span>
          ))}
      </div>
      <ul aria-label={label} className="space-y-1">
        {rows.map((row) => (
          <Line key={row.id} row={row} span={span} ticks={ticks} asked={asked} />
        ))}
      </ul>
    </div>
  );
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

interface LineProps {
  row: StripRow;
  span: Span;
  ticks: { at: number; left: number }[];
  asked: number;
}

function Line({ row, span, ticks, asked }: LineProps) {
  const { from, to } = span;
  const { marks, bands, count, isCut, untold } = useMemo(
    () => track(row.fires ?? [], { from, to }, asked),
    [row.fires, from, to, asked],
  );
  return (
    <li className="sm:flex sm:items-center">
      {row.name !== null && <div className="truncate pr-3 text-xs sm:w-44 sm:shrink-0">{row.name}</div>}
      <p className="sr-only">{said(row.fires, count, isCut)}</p>
      <div aria-hidden className="relative h-6 min-w-0 flex-1 rounded bg-sunken">
        {ticks.map(({ at, left }) => (
          <span key={at} style={{ left: `${left}%` }} className="absolute inset-y-0 w-px bg-line" />
        ))}
        {bands.map((band) => (
          <span
            key={band.left}
            title={plural(band.count, 'fire')}
            style={{ left: `${band.left}%`, width: `${band.width}%` }}
            className="absolute top-1 flex h-4 items-center overflow-hidden rounded bg-accent-soft px-1.5 text-2xs font-medium whitespace-nowrap text-accent"
          >
            {band.width > 14 && plural(band.count, 'fire')}
          </span>
        ))}
        {untold !== null && (
          <span
            title="There are more fires than shown"
            style={{ left: `${untold}%`, right: 0 }}
            className="absolute top-1 h-4 rounded bg-accent-soft opacity-50"
          />
        )}
        {marks.map((mark) => (
          <span
            key={mark.at}
            title={absoluteText(mark.at)}
            style={{ left: `${mark.left}%` }}
            className="absolute top-1 h-4 w-1.5 -translate-x-1/2 rounded-full bg-accent ring-2 ring-sunken"
          />
        ))}
        {row.fires !== undefined && count === 0 && (
          <span className="absolute inset-y-0 left-2 flex items-center text-2xs text-faint">
            none in this time
          </span>
        )}
      </div>
    </li>
  );
}

function said(fires: { at: string }[] | undefined, count: number, isCut: boolean): string {
  if (fires === undefined) return 'not known yet';
  if (count === 0) return 'no fire in this time';
  const times = fires.slice(0, 5).map(({ at }) => CLOCK.format(new Date(at)));
  const total = isCut ? `more than ${count} fires` : plural(count, 'fire');
  return `${total}: ${times.join(', ')}${count > times.length ? ' and so on' : ''}`;
}

import { lazy, Suspense, useState } from 'react';
import { useShownTheme } from '@/app/theme';
import { Skeleton } from './Skeleton';

export type ChartColour = 'accent' | 'good' | 'warn' | 'bad' | 'grey' | 'violet' | 'orange';

export interface ChartSeries {
  label: string;
  colour: ChartColour;
  /** One per time; `null` where nothing was measured. */
  values: (number | null)[];
  kind: 'line' | 'area' | 'bars';
}

export interface ChartProps {
  label: string;
  /** Seconds since 1970, rising. */
  times: number[];
  series: ChartSeries[];
  /** Each series on the shoulders of the ones after it. */
  stacked?: boolean;
  format: (value: number) => string;
  height?: number;
  /** What the picture says, for those who do not see it. */
  summary: string;
}

// Charts are a tenth of the bundle and on one page.
const Canvas = lazy(() => import('./ChartCanvas'));

const SWATCHES: Record<ChartColour, string> = {
  accent: 'bg-chart-accent',
  good: 'bg-chart-good',
  warn: 'bg-chart-warn',
  bad: 'bg-chart-bad',
  grey: 'bg-chart-grey',
  violet: 'bg-chart-violet',
  orange: 'bg-chart-orange',
};

export function Chart({ height = 150, ...props }: ChartProps) {
  const [hovered, setHovered] = useState<number | null>(null);
  const theme = useShownTheme();
  const look = props.series.map(({ label, colour, kind }) => `${label} ${colour} ${kind}`).join();
  const at = hovered ?? props.times.length - 1;
  const time = props.times[at];
  return (
    <figure aria-label={props.label} className="min-w-0">
      <div aria-hidden>
        <Suspense fallback={<ChartSpace height={height} />}>
          <Canvas key={`${theme} ${look}`} {...props} height={height} onHover={setHovered} />
        </Suspense>
      </div>
      <figcaption className="mt-1 flex min-h-5 flex-wrap items-center gap-x-3 text-xs text-muted">
        <span className="sr-only">{props.summary}</span>
        {/* Piled up, the last one lies at the bottom; it is the one that is meant. */}
        {(props.stacked === true ? props.series.toReversed() : props.series).map((series) => {
          const value = series.values[at];
          return (
            <span key={series.label} aria-hidden className="inline-flex items-center gap-1.5">
              <span className={`size-2 rounded-xs ${SWATCHES[series.colour]}`} />
              {series.label}
              <span className="tabular font-medium text-ink">
                {value === null || value === undefined ? '–' : props.format(value)}
              </span>
            </span>
          );
        })}
        {time !== undefined && (
          <span aria-hidden className="tabular ml-auto text-faint">
            {hovered === null ? 'latest' : CLOCK.format(new Date(time * 1_000))}
          </span>
        )}
      </figcaption>
    </figure>
  );
}

const CLOCK = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' });

function ChartSpace({ height }: { height: number }) {
  const [style] = useState({ height });
  return (
    <div style={style} className="py-2">
      <Skeleton className="h-full w-full" />
    </div>
  );
}

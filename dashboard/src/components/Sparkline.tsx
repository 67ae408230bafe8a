interface SparklineProps {
  /** What it says, for those who do not see it. */
  summary: string;
  values: number[];
  /** A second row on top of the first, such as what failed. */
  bad?: number[];
}

const WIDTH = 120;
const HEIGHT = 28;
const NONE: number[] = [];

/** A small picture of how things went: bars without axes. */
export function Sparkline({ summary, values, bad = NONE }: SparklineProps) {
  const top = Math.max(1, ...values.map((value, at) => value + (bad[at] ?? 0)));
  const step = WIDTH / Math.max(1, values.length);
  const height = (value: number) => (value === 0 ? 0 : Math.max(1.5, (value / top) * (HEIGHT - 2)));
  return (
    <svg
      role="img"
      aria-label={summary}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="h-7 w-full max-w-40 min-w-24"
    >
      <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} className="stroke-line" strokeWidth="1" />
      {values.map((value, at) => {
        const good = height(value);
        const wrong = height(bad[at] ?? 0);
        return (
          <g key={at}>
            {good > 0 && (
              <rect
                x={at * step}
                y={HEIGHT - good}
                width={step * 0.8}
                height={good}
                className="fill-accent"
              />
            )}
            {wrong > 0 && (
              <rect
                x={at * step}
                y={HEIGHT - good - wrong}
                width={step * 0.8}
                height={wrong}
                className="fill-bad"
              />
            )}
          </g>
        );
      })}
    </svg>
  );
}

import { useEffect, useEffectEvent, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import type { ChartColour, ChartProps, ChartSeries } from './Chart';
import { stack } from './stack';

interface CanvasProps extends ChartProps {
  height: number;
  onHover: (at: number | null) => void;
}

/** Made anew (by its key) when its look changes; new values are handed to the one that is there. */
export default function ChartCanvas({
  times,
  series,
  stacked = false,
  format,
  height,
  onHover,
}: CanvasProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = useMemo<uPlot.AlignedData>(() => {
    const values = series.map((each) => each.values);
    return [times, ...(stacked ? stack(values) : values)];
  }, [times, series, stacked]);
  const latest = useEffectEvent(() => ({ data, series }));
  const write = useEffectEvent((split: number) => format(split));
  const hover = useEffectEvent((at: number | null) => onHover(at));

  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const colours = readColours(element);
    const made = new uPlot(
      {
        width: Math.max(80, element.clientWidth),
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
        // On the right, half of a time that stands under the last bar.
        padding: [8, 24, 0, 0],
        scales: {
          // Bars stand in the middle of their time; the outer ones need room.
          x: {
            time: true,
            range: (self, from, to) => [from - margin(self.data[0]), to + margin(self.data[0])],
          },
          y: { range: (_, __, top) => [0, top > 0 ? top * 1.08 : 1] },
        },
        axes: [
          {
            stroke: colours.faint,
            font: `11px ${colours.font}`,
            grid: { show: false },
            ticks: { show: false },
            size: 24,
            gap: 4,
            space: 56,
            values: (_, splits) => splits.map((split) => AXIS.format(new Date(split * 1_000))),
          },
          {
            stroke: colours.faint,
            font: `11px ${colours.font}`,
            grid: { stroke: colours.line, width: 1 },
            ticks: { show: false },
            size: 48,
            gap: 6,
            space: 36,
            values: (_, splits) => splits.map((split) => write(split)),
          },
        ],
        series: [{}, ...latest().series.map((each) => drawn(each, colours, stacked))],
        hooks: {
          setCursor: [(self) => hover(self.cursor.idx ?? null)],
        },
      },
      latest().data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: Math.max(80, element.clientWidth), height }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [height, stacked]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data]);

  return <div ref={box} className="w-full overflow-hidden" />;
}

function margin(times: ArrayLike<number>): number {
  return times.length < 2 ? 30 : ((times[1] ?? 0) - (times[0] ?? 0)) * 0.5;
}

const AXIS = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

type Colours = Record<ChartColour | 'line' | 'faint' | 'font', string>;

function readColours(element: Element): Colours {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    accent: read('chart-accent'),
    good: read('chart-good'),
    warn: read('chart-warn'),
    bad: read('chart-bad'),
    grey: read('chart-grey'),
    violet: read('chart-violet'),
    orange: read('chart-orange'),
    line: read('line'),
    faint: read('faint'),
    font: style.fontFamily,
  };
}

function drawn({ label, colour, kind }: ChartSeries, colours: Colours, stacked: boolean): uPlot.Series {
  const stroke = colours[colour];
  if (kind === 'bars') {
    const paths = uPlot.paths.bars?.({ size: [0.72, 28], radius: stacked ? 0 : 0.2 });
    return { label, stroke, fill: stroke, width: 0, points: { show: false }, ...(paths ? { paths } : {}) };
  }
  return {
    label,
    stroke,
    width: 1.75,
    points: { show: false },
    // Idle times in between measured nothing; a point alone would not be drawn.
    spanGaps: true,
    ...(kind === 'area' ? { fill: `${stroke}${stacked ? '66' : '26'}` } : {}),
  };
}

// Where fires lie on a line of time.

export interface Span {
  from: number;
  to: number;
}

export interface Mark {
  /** Per cent of the line. */
  left: number;
  at: string;
}

export interface Track {
  marks: Mark[];
  /** Fires so close together that they are drawn as one. */
  bands: { left: number; width: number; count: number }[];
  /** How many there are. */
  count: number;
  /** There are more than `count` before the end: the server told no further. */
  isCut: boolean;
  /** Where it stopped telling, in per cent. */
  untold: number | null;
}

/** Closer than this, in per cent, marks run into each other on a phone. */
const APART = 1.3;

export function track(fires: { at: string }[], span: Span, asked: number): Track {
  const told = fires.map(({ at }) => Date.parse(at));
  const last = told.at(-1) ?? 0;
  const isShort = fires.length >= asked && last < span.to;
  const inside = told.filter((at) => at >= span.from && at <= span.to);
  if (!isShort || inside.length === 0) {
    return { ...drawn(inside, span), count: inside.length, isCut: false, untold: null };
  }
  const step = rhythm(told);
  if (step === null) {
    return { ...drawn(inside, span), count: inside.length, isCut: true, untold: place(last, span) };
  }
  // What comes at a steady pace goes on at that pace: so many that they are one band.
  const count = inside.length + Math.floor((span.to - last) / step);
  const left = place(inside[0] ?? last, span);
  return { marks: [], bands: [{ left, width: 100 - left, count }], count, isCut: false, untold: null };
}

function drawn(times: number[], span: Span): Pick<Track, 'marks' | 'bands'> {
  const marks: Mark[] = [];
  const bands: Track['bands'] = [];
  let run: Mark[] = [];
  const close = () => {
    const [first] = run;
    const end = run.at(-1);
    if (first === undefined || end === undefined) return;
    if (run.length < 4) marks.push(...run);
    else bands.push({ left: first.left, width: Math.max(APART, end.left - first.left), count: run.length });
    run = [];
  };
  for (const time of times) {
    const mark = { at: new Date(time).toISOString(), left: place(time, span) };
    const before = run.at(-1);
    if (before !== undefined && mark.left - before.left > APART) close();
    run.push(mark);
  }
  close();
  return { marks, bands };
}

function place(at: number, { from, to }: Span): number {
  return ((at - from) / (to - from)) * 100;
}

/** The time between two fires, if it is always the same. */
function rhythm(times: number[]): number | null {
  const [first, second] = times;
  if (first === undefined || second === undefined || second <= first) return null;
  const step = second - first;
  return times.every((at, index) => Math.abs(at - first - index * step) < 1_000) ? step : null;
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080, 43_200].map(
  (minutes) => minutes * 60_000,
);

/** Round times on the line, about as many as fit. */
export function axis({ from, to }: Span, fit: number): { at: number; left: number }[] {
  const step = STEPS.find((each) => (to - from) / each <= fit) ?? 43_200 * 60_000;
  // Round on the reader's own clock, not on that of Greenwich.
  const shift = new Date(from).getTimezoneOffset() * 60_000;
  const first = Math.ceil((from - shift) / step) * step + shift;
  const ticks: { at: number; left: number }[] = [];
  for (let at = first; at <= to; at += step) ticks.push({ at, left: place(at, { from, to }) });
  return ticks;
}

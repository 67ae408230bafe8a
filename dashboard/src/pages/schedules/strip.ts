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
  /** How many there are, as far as the server told. */
  count: number;
  /** There are more before the end than the server told. */
  isCut: boolean;
}

/** Closer than this, in per cent, two marks cannot be told apart. */
const APART = 0.55;

export function track(fires: { at: string }[], { from, to }: Span, asked: number): Track {
  const inside = fires
    .map(({ at }) => ({ at, left: ((Date.parse(at) - from) / (to - from)) * 100 }))
    .filter(({ left }) => left >= 0 && left <= 100);
  const isCut = fires.length >= asked && inside.length === fires.length && inside.length > 0;
  const marks: Mark[] = [];
  const bands: Track['bands'] = [];
  let run: Mark[] = [];
  const close = () => {
    const [first] = run;
    const last = run.at(-1);
    if (first === undefined || last === undefined) return;
    if (run.length < 4) marks.push(...run);
    else bands.push({ left: first.left, width: Math.max(APART, last.left - first.left), count: run.length });
    run = [];
  };
  for (const mark of inside) {
    const before = run.at(-1);
    if (before !== undefined && mark.left - before.left > APART) close();
    run.push(mark);
  }
  const open = run.at(-1);
  close();
  if (isCut && open !== undefined) {
    // As it went so far it goes on.
    const band = bands.at(-1);
    if (band !== undefined && band.left + band.width >= open.left) band.width = 100 - band.left;
  }
  return { marks, bands, count: inside.length, isCut };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080, 43_200].map(
  (minutes) => minutes * 60_000,
);

/** Round times on the line, about as many as fit. */
export function axis({ from, to }: Span, fit: number): { at: number; left: number }[] {
  const step = STEPS.find((each) => (to - from) / each <= fit) ?? (STEPS.at(-1) as number);
  // Round on the reader's own clock, not on that of Greenwich.
  const shift = new Date(from).getTimezoneOffset() * 60_000;
  const first = Math.ceil((from - shift) / step) * step + shift;
  const ticks: { at: number; left: number }[] = [];
  for (let at = first; at <= to; at += step) ticks.push({ at, left: ((at - from) / (to - from)) * 100 });
  return ticks;
}

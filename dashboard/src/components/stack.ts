// Heights of series that stand on each other: the first is the whole pile, the last stands on the ground.
export function stack(series: (number | null)[][]): number[][] {
  const piled: number[][] = [];
  let below: number[] = [];
  for (const values of series.toReversed()) {
    below = values.map((value, at) => (below[at] ?? 0) + (value ?? 0));
    piled.unshift(below);
  }
  return piled;
}

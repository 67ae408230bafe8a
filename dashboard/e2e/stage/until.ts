// Waiting on a level, never on a sleep: asks until the answer is yes.

/** Far more than anything here needs; a wait that reaches it has failed. */
export const LONG = 60_000;

/** Thrown by an `ask` that knows that the answer will never be yes. */
export class Hopeless extends Error {}

export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  { timeout = LONG, every = 50 } = {},
): Promise<T> {
  const end = Date.now() + timeout;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== null && answer !== undefined && answer !== false) return answer;
      last = answer;
    } catch (error) {
      if (error instanceof Hopeless) throw error;
      last = error;
    }
    if (Date.now() > end) throw new Error(`waited in vain until ${what} (last: ${String(last)})`);
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}

// Why a request did not do what was asked, in the server's own words.
import type { components } from './schema';

export type ProblemDocument = components['schemas']['ProblemDocument'];
export type Mistake = components['schemas']['Mistake'];

/** The server answered, and refused. */
export class ApiError extends Error {
  readonly status: number;
  readonly title: string;
  readonly requestId: string | null;
  readonly mistakes: Mistake[];
  readonly problem: ProblemDocument | null;

  constructor(status: number, problem: ProblemDocument | null, requestId: string | null) {
    super(problem?.detail ?? `The server answered with status ${status} and no explanation.`);
    this.name = 'ApiError';
    this.status = status;
    this.title = problem?.title ?? `Status ${status}`;
    this.requestId = problem?.instance ?? requestId;
    this.mistakes = problem?.errors ?? [];
    this.problem = problem;
  }

  /** What was said about one field of the request, such as `/cron`. */
  mistake(pointer: string): string | undefined {
    return this.mistakes.find((mistake) => mistake.pointer === pointer)?.detail;
  }
}

/** The server did not answer. A read is repeated as soon as the stream is back; a change is not, and says so. */
export class Unreachable extends Error {
  constructor(cause: unknown, isChange: boolean) {
    super(
      isChange
        ? 'Not confirmed: the server is unreachable. Check whether the change was made, and try again when the server is back.'
        : 'The server cannot be reached. This page reloads as soon as the server is back.',
      { cause },
    );
    this.name = 'Unreachable';
  }
}

export interface Explained {
  title: string;
  detail: string;
  requestId: string | null;
}

export function explain(error: unknown): Explained {
  if (error instanceof ApiError) {
    return { title: error.title, detail: error.message, requestId: error.requestId };
  }
  if (error instanceof Unreachable) {
    return { title: 'No response', detail: error.message, requestId: null };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { title: 'Something went wrong', detail, requestId: null };
}

export function isStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof ApiError && statuses.includes(error.status);
}

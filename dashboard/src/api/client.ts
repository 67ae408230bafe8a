// The one door to the server: typed by its OpenAPI document, speaking for the tenant that this tab is about.
import createClient, { type Middleware } from 'openapi-fetch';
import { ApiError, Unreachable, type ProblemDocument } from './problem';
import type { paths } from './schema';
import { chosenTenant } from './tenant';

const aboutTenant: Middleware = {
  onRequest({ request }) {
    const tenant = chosenTenant();
    if (tenant !== null) request.headers.set('Foreman-Tenant', tenant);
    return request;
  },
};

export const client = createClient<paths>({
  baseUrl: location.origin,
  fetch: reach,
  credentials: 'same-origin',
});
client.use(aboutTenant);

interface Called<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The answer's document, or an error that says why there is none. */
export async function answer<T>(call: Promise<Called<T>>): Promise<T> {
  const called = await call;
  if (!called.response.ok) throw refusal(called);
  return called.data as T;
}

/** The same, with the `ETag` that a later change has to show. */
export async function answerWithTag<T>(call: Promise<Called<T>>): Promise<{ data: T; etag: string | null }> {
  const called = await call;
  if (!called.response.ok) throw refusal(called);
  return { data: called.data as T, etag: called.response.headers.get('ETag') };
}

/** The same, with the server's time as it answered. */
export async function answerWithTime<T>(call: Promise<Called<T>>): Promise<{ data: T; at: number }> {
  const called = await call;
  if (!called.response.ok) throw refusal(called);
  const at = Date.parse(called.response.headers.get('Date') ?? '');
  return { data: called.data as T, at: Number.isNaN(at) ? Date.now() : at };
}

async function reach(request: Request): Promise<Response> {
  try {
    // Looked up at each call, so that a test may put its own in place.
    return await globalThis.fetch(request);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    throw new Unreachable(cause, isChange(request));
  }
}

/** A preview of a schedule is posted and changes nothing. */
function isChange({ method, url }: Request): boolean {
  return method !== 'GET' && !new URL(url).pathname.endsWith('/preview');
}

function refusal({ error, response }: Called<unknown>): ApiError {
  const problem = isProblem(error) ? error : null;
  return new ApiError(response.status, problem, response.headers.get('X-Request-ID'));
}

function isProblem(error: unknown): error is ProblemDocument {
  return typeof error === 'object' && error !== null && 'detail' in error && 'title' in error;
}

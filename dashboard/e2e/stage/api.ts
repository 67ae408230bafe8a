// The API as a program uses it, for what a test sets up or checks behind the browser's back.

import { until } from './until';

export type Json = Record<string, unknown>;

export interface Job {
  id: string;
  state: string;
  queue: string;
  attempt: number;
}

export const FINAL = ['completed', 'failed', 'dead', 'cancelled'];

export class Api {
  constructor(
    readonly url: string,
    readonly key?: string,
  ) {}

  /** The same server, with another key. */
  as(key: string): Api {
    return new Api(this.url, key);
  }

  async call<T = Json>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = {};
    if (this.key !== undefined) headers['authorization'] = `Bearer ${this.key}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    const answer = await fetch(`${this.url}/api/v1${path}`, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  get<T = Json>(path: string): Promise<T> {
    return this.call<T>('GET', path);
  }

  post<T = Json>(path: string, body: unknown = {}): Promise<T> {
    return this.call<T>('POST', path, body);
  }

  /** A target of `foreman dev` itself: says back what it was sent. */
  get echo(): string {
    return `${this.url}/dev/echo`;
  }

  /** A target of `foreman dev` itself: answers with this status. */
  status(code: number): string {
    return `${this.url}/dev/status/${code}`;
  }

  submit(spec: Json): Promise<Job> {
    return this.post<Job>('/jobs', { url: this.echo, ...spec });
  }

  async submitMany(specs: Json[]): Promise<void> {
    for (let from = 0; from < specs.length; from += 500) {
      const jobs = specs.slice(from, from + 500).map((spec) => Object.assign({ url: this.echo }, spec));
      await this.post('/jobs/batch', { jobs });
    }
  }

  job(id: string): Promise<Job> {
    return this.get<Job>(`/jobs/${id}`);
  }

  /** Waits until a job is in this state. */
  async reaches(id: string, state: string): Promise<Job> {
    return until(`job ${id} is ${state}`, async () => {
      const job = await this.job(id);
      return job.state === state && job;
    });
  }

  /** Submits a job that is dead after its first attempt, and waits until it is. */
  async dead(spec: Json = {}): Promise<Job> {
    const { id } = await this.submit({ url: this.status(500), max_attempts: 1, ...spec });
    return this.reaches(id, 'dead');
  }

  /** Makes a tenant and a key that may do whatever a tenant may. */
  async tenant(
    id: string,
    scopes = ['jobs:*', 'schedules:*', 'stream:read'],
  ): Promise<{ key: string; id: string }> {
    await this.post('/tenants', { id });
    return this.post<{ key: string; id: string }>(`/tenants/${id}/keys`, { name: 'browser', scopes });
  }
}

// The real binary, in a directory and on a port of its own.
//
// FOREMAN_BIN names it (scripts/check-browser sets it to a copy). A server that was killed can be started again in the same place
// and on the same port, as a person does it who has the dashboard open meanwhile.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Api } from './api';
import { holds, letsGo, temporaryDirectory } from './leash';
import { Hopeless, LONG, until } from './until';

export const ADMIN_KEY = 'only-for-this-test-and-long-enough';

export interface Options {
  /** Ask for keys; the administrator's is `ADMIN_KEY`. */
  keys?: boolean;
  /** Fill it with the lively mix of `--demo`. */
  demo?: boolean;
  /** More words for `foreman dev`. */
  words?: string[];
}

export class Foreman {
  readonly directory = temporaryDirectory();
  #child: ChildProcess | undefined;
  #port: number | undefined;

  private constructor(private readonly options: Options) {}

  static async start(options: Options = {}): Promise<Foreman> {
    const foreman = new Foreman(options);
    await foreman.start();
    return foreman;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** As the administrator, where keys are asked for. */
  get api(): Api {
    return new Api(this.url, this.options.keys === true ? ADMIN_KEY : this.ownKey());
  }

  /** The link that it prints where it has made a key for itself, and where that leads. */
  signIn(next: string): string {
    return `/sign-in?next=${encodeURIComponent(next)}#key=${this.ownKey()}`;
  }

  /** A server that runs commands has one. */
  private ownKey(): string | undefined {
    const file = join(this.directory, 'data', 'admin.key');
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  }

  get log(): string {
    return readFileSync(join(this.directory, 'log'), 'utf8');
  }

  /** For whoever reads the output of a test that failed. */
  describe(): void {
    const lines = this.log.trimEnd().split('\n').slice(-40);
    process.stdout.write(`--- the server's log\n${lines.join('\n')}\n`);
  }

  /** What it counts, by the name of the series, without labels summed up. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const values = text
      .split('\n')
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
    if (values.length === 0) throw new Error(`nothing is called ${name} in /metrics`);
    return values.reduce((sum, value) => sum + value, 0);
  }

  /** Starts it, or starts it again where it was. */
  async start(): Promise<void> {
    const words = [
      'dev',
      '--data-dir',
      join(this.directory, 'data'),
      '--listen',
      `127.0.0.1:${this.#port ?? 0}`,
    ];
    if (this.options.demo === true) words.push('--demo');
    words.push(...(this.options.words ?? []));
    mkdirSync(join(this.directory, 'data'), { recursive: true });
    const log = openSync(join(this.directory, 'log'), 'a');
    const child = spawn(binary(), words, {
      cwd: this.directory,
      env: this.environment(),
      stdio: ['ignore', 'pipe', log],
    });
    closeSync(log);
    this.#child = child;
    if (child.pid !== undefined) holds(child.pid);
    let said = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const ended = () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Hopeless(`it ended: ${said}\n${this.log}`);
    };
    const port = await until('the server says where it listens', () => {
      ended();
      return /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1];
    });
    this.#port = Number(port);
    await until('the server is ready', async () => {
      ended();
      return (await fetch(`${this.url}/readyz`)).ok;
    });
  }

  /** At once, as when the machine takes it away. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** In good order; what does not stop is killed. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.pid === undefined) return;
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), LONG / 2);
      await gone;
      clearTimeout(late);
    }
    letsGo(child.pid);
    this.#child = undefined;
  }

  /** What a person has set for their own server is not for this one. */
  private environment(): NodeJS.ProcessEnv {
    const ours = Object.entries(process.env).filter(
      ([name]) => name === 'FOREMAN_TEST_DIR' || (!name.startsWith('FOREMAN_') && name !== 'DATABASE_URL'),
    );
    const environment: NodeJS.ProcessEnv = Object.fromEntries(ours);
    if (this.options.keys === true) environment['FOREMAN_ADMIN_KEY'] = ADMIN_KEY;
    return environment;
  }
}

function binary(): string {
  const path = process.env['FOREMAN_BIN'];
  if (path === undefined || path === '')
    throw new Error('FOREMAN_BIN names no binary: run scripts/check-browser');
  return path;
}

// A server that jobs call, and that answers when the test says so.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export class Target {
  /** How many requests came. */
  calls = 0;
  #open = true;
  #waiting: (() => void)[] = [];
  #status = 200;

  private constructor(private readonly server: ReturnType<typeof createServer>) {}

  static async start(): Promise<Target> {
    const server = createServer();
    const target = new Target(server);
    server.on('request', (request, response) => target.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    return target;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** From now on requests wait. */
  hold(): void {
    this.#open = false;
  }

  /** What waits is answered, and what comes. */
  release(): void {
    this.#open = true;
    for (const go of this.#waiting.splice(0)) go();
  }

  /** What it answers with from now on. */
  answers(status: number): void {
    this.#status = status;
  }

  async stop(): Promise<void> {
    this.release();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    this.calls += 1;
    request.resume();
    const say = () => response.writeHead(this.#status, { 'content-type': 'text/plain' }).end('done\n');
    if (this.#open) say();
    else this.#waiting.push(say);
  }
}

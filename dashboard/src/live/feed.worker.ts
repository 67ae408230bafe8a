// The shared worker: one stream per tenant for all tabs of the browser, which allows only six connections to a host.
//
// A tab that closes says so; one that crashes leaves its port behind, which costs a message nobody reads. The browser
// ends the worker with the last tab.
import { Feed } from './feed';
import type { ToTab, ToWorker } from './messages';

interface Followed {
  feed: Feed;
  ports: Set<MessagePort>;
}

const followed = new Map<string | null, Followed>();

function follow(port: MessagePort, tenant: string | null): void {
  leave(port);
  const existing = followed.get(tenant);
  if (existing !== undefined) {
    existing.ports.add(port);
    say(port, { type: 'connection', connection: existing.feed.connection });
    // It may be waiting after a refusal that a sign-in has just put right.
    existing.feed.hurry();
    return;
  }
  open(tenant, new Set([port]));
}

function open(tenant: string | null, ports: Set<MessagePort>): void {
  const tell = (message: ToTab) => {
    for (const port of ports) say(port, message);
  };
  const feed = new Feed({
    tenant,
    listener: {
      events: (events) => tell({ type: 'events', events }),
      connection: (connection) => tell({ type: 'connection', connection }),
    },
  });
  followed.set(tenant, { feed, ports });
  void feed.run();
}

function leave(port: MessagePort): void {
  for (const [tenant, { feed, ports }] of followed) {
    ports.delete(port);
    if (ports.size === 0) {
      feed.stop();
      followed.delete(tenant);
    }
  }
}

function restart(): void {
  for (const [tenant, { feed, ports }] of followed) {
    feed.stop();
    open(tenant, ports);
  }
}

function say(port: MessagePort, message: ToTab): void {
  port.postMessage(message);
}

function hear(port: MessagePort, message: ToWorker): void {
  if (message.type === 'follow') follow(port, message.tenant);
  else if (message.type === 'hurry') for (const { feed } of followed.values()) feed.hurry();
  else if (message.type === 'restart') restart();
  else leave(port);
}

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  port.addEventListener('message', (message: MessageEvent<ToWorker>) => hear(port, message.data));
  port.start();
});

import { screen, waitFor } from '@testing-library/react';
import { expect, test } from 'vitest';
import { LiveProvider } from '@/live/LiveProvider';
import { renderAt } from '@/testing/render';
import { serve, WHO } from '@/testing/server';
import { TickHistory } from './TickHistory';

function tick(part: object) {
  return {
    nominal: '2026-11-15T12:00:00Z',
    at: '2026-11-15T12:00:00Z',
    state: 'fired',
    job: 'job-1',
    ...part,
  };
}

/** A stream that says what it is told to. */
function stream() {
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  const tell = (text: string) => sink?.enqueue(new TextEncoder().encode(text));
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      sink = controller;
    },
  });
  return {
    response: new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    moved: (id: string, sequence: number) =>
      tell(
        `event: job\nid: ${sequence}\ndata: ${JSON.stringify({ id, state: 'completed', queue: 'q', attempt: 1, at: 'x', sequence })}\n\n`,
      ),
    beat: () => tell('event: heartbeat\nid: 0\ndata: {"at":"x"}\n\n'),
  };
}

test('the job inside a tick is shown where it stands, without a reload', async () => {
  let state = 'running';
  const live = stream();
  const asked = serve({
    'GET /whoami': WHO,
    'GET /stream': () => live.response,
    'GET /schedules/s1/ticks': () => ({ items: [tick({ job_state: state })], next: null }),
  });
  renderAt(
    <LiveProvider tenant={null}>
      <TickHistory schedule="s1" />
    </LiveProvider>,
  );
  await screen.findByText('running');
  live.beat();
  await waitFor(() => expect(asked.some(({ path }) => path === '/stream')).toBe(true));
  state = 'completed';
  live.moved('job-1', 2);
  await screen.findByText('completed');
});

test('ticks that were missed are told as one, with how many they were', async () => {
  serve({
    'GET /whoami': WHO,
    'GET /schedules/s1/ticks': {
      items: [
        tick({ state: 'skipped', reason: 'missed', job: null, count: 12, last: '2026-11-15T13:00:00Z' }),
      ],
      next: null,
    },
  });
  renderAt(<TickHistory schedule="s1" />);
  expect(
    (await screen.findAllByText('12 fires missed while no scheduler was running')).length,
  ).toBeGreaterThan(0);
  expect(screen.getByText('none')).toBeDefined();
});

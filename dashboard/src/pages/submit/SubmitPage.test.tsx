import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import { useState } from 'react';
import { fill } from '@/testing/fill';
import { renderAt } from '@/testing/render';
import { job, serve, WHO } from '@/testing/server';
import type { Handover } from './handover';
import { SubmitForm } from './SubmitPage';

function Form({ handover = null }: { handover?: Handover | null }) {
  const [ids, setIds] = useState<string[]>([]);
  return <SubmitForm handover={handover} submitted={ids} onSubmitted={(id) => setIds([id, ...ids])} />;
}

const ME = { 'GET /whoami': WHO, 'GET /queues': { items: [], next: null } };

function mistakes(...errors: { pointer: string; detail: string }[]): Response {
  return Response.json(
    { type: 'x', title: 'The job is not valid', status: 422, detail: 'it has mistakes', errors },
    { status: 422 },
  );
}

test('a job is submitted, stays on the page and is followed there', async () => {
  const made = job({ queue: 'letters' });
  const asked = serve({
    ...ME,
    'POST /jobs': made,
    [`GET /jobs/${made.id}`]: { ...made, state: 'completed' },
  });
  const { cache } = renderAt(<Form />);
  fill(await screen.findByLabelText('URL'), 'https://example.com/hook');
  fill(screen.getByLabelText('Queue'), 'letters');
  await userEvent.click(screen.getByRole('button', { name: 'Submit' }));
  const link = await screen.findByRole('link', { name: made.id });
  expect(link.getAttribute('href')).toBe(`/jobs/${made.id}`);
  expect(asked.find(({ method }) => method === 'POST')?.body).toEqual({
    url: 'https://example.com/hook',
    queue: 'letters',
  });
  const listed = within(link.closest('li') as HTMLElement);
  expect(listed.getByText('pending')).toBeDefined();
  // As the live feed does.
  cache.setQueryData(['jobs', 'one', made.id], { ...made, state: 'completed' });
  expect(await listed.findByText('completed')).toBeDefined();
  expect((screen.getByLabelText('URL') as HTMLInputElement).value).toBe('https://example.com/hook');
});

test('what the server finds wrong stands at its field until that is changed', async () => {
  serve({
    ...ME,
    'POST /jobs': () =>
      mistakes(
        { pointer: '/queue', detail: 'not a queue name' },
        { pointer: '/url', detail: 'is not a URL' },
      ),
  });
  renderAt(<Form />);
  fill(await screen.findByLabelText('URL'), 'nope');
  const queue = screen.getByLabelText('Queue');
  fill(queue, 'a b');
  await userEvent.click(screen.getByRole('button', { name: 'Submit' }));
  await waitFor(() => expect(queue.getAttribute('aria-invalid')).toBe('true'));
  const described = queue.getAttribute('aria-describedby') ?? '';
  expect(document.getElementById(described.split(' ').at(-1) ?? '')?.textContent).toBe('not a queue name');
  expect(screen.getByText('is not a URL')).toBeDefined();
  fill(queue, '');
  expect(queue.getAttribute('aria-invalid')).toBeNull();
  expect(screen.getByText('is not a URL')).toBeDefined();
});

test('JSON is checked while it is written, and what is none is not sent', async () => {
  const asked = serve(ME);
  renderAt(<Form />);
  fill(await screen.findByLabelText('URL'), 'https://example.com/hook');
  const body = screen.getByRole('textbox', { name: 'Body' });
  fill(body, '{"n": 1');
  expect(screen.getByText(/is not JSON/)).toBeDefined();
  expect(screen.getByRole('button', { name: 'Submit' }).hasAttribute('disabled')).toBe(true);
  fill(body, '{"n": 1}');
  expect(screen.queryByText(/is not JSON/)).toBeNull();
  expect(screen.getByRole('button', { name: 'Submit' }).hasAttribute('disabled')).toBe(false);
  expect(asked.some(({ method }) => method === 'POST')).toBe(false);
});

test('the line for the shell follows what is typed', async () => {
  serve(ME);
  renderAt(<Form />);
  fill(await screen.findByLabelText('URL'), 'https://example.com/it');
  const curl = screen.getByRole('region', { name: /HTTP request/ });
  const cli = screen.getByRole('region', { name: /command line/ });
  expect(curl.textContent).toContain('"url": "https://example.com/it"');
  expect(cli.textContent).toContain('--url https://example.com/it');
});

test('hidden values of a job that is run again are flagged, and must be typed again', async () => {
  const made = job();
  const asked = serve({ ...ME, 'POST /jobs': made, [`GET /jobs/${made.id}`]: made });
  const spec = job({ headers: { Authorization: '***', 'X-Plain': 'kept' } });
  renderAt(<Form handover={{ spec, of: spec.id }} />);
  const submit = await screen.findByRole('button', { name: 'Submit' });
  expect(screen.getByText(/One value was hidden/)).toBeDefined();
  expect(screen.getByText(/was hidden: enter it again/)).toBeDefined();
  expect(screen.getByLabelText('Header 1: value').getAttribute('aria-invalid')).toBe('true');
  expect(screen.getByLabelText('Header 2: value').getAttribute('aria-invalid')).toBeNull();
  expect(submit.hasAttribute('disabled')).toBe(true);
  fill(screen.getByLabelText('Header 1: value'), 'Bearer new');
  expect(screen.queryByText(/was hidden: enter it again/)).toBeNull();
  await userEvent.click(submit);
  await screen.findByRole('link', { name: made.id });
  expect(asked.find(({ method }) => method === 'POST')?.body).toMatchObject({
    headers: { Authorization: 'Bearer new', 'X-Plain': 'kept' },
  });
});

test('commands are offered only to who may run them', async () => {
  serve({ ...ME, 'GET /whoami': { ...WHO, scopes: ['jobs:write'] } });
  renderAt(<Form />);
  await screen.findByLabelText('URL');
  expect(screen.queryByRole('button', { name: 'Run a command' })).toBeNull();
});

test('a job that could not be sent says so, and sent again it is one job', async () => {
  let made = job({ queue: 'mail' });
  let isBack = false;
  const asked = serve({
    ...ME,
    'POST /jobs': () => {
      if (!isBack) throw new TypeError('failed to fetch');
      return made;
    },
    [`GET /jobs/${made.id}`]: () => made,
  });
  renderAt(<Form />);
  fill(await screen.findByLabelText('URL'), 'https://example.com/hook');
  const submit = screen.getByRole('button', { name: 'Submit' });
  await userEvent.click(submit);
  const note = await screen.findByRole('alert');
  expect(note.textContent).toBe(
    'Not confirmed: the server is unreachable. Check whether the change was made, and try again when the server is back.',
  );
  isBack = true;
  await userEvent.click(submit);
  await screen.findByRole('link', { name: made.id });
  expect(screen.queryByText(/Not sent/)).toBeNull();
  // The answer to the first may have been lost on its way: the same key makes one job of both.
  const sent = asked
    .filter(({ method }) => method === 'POST')
    .map(({ headers }) => headers.get('Idempotency-Key'));
  expect(sent[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(sent).toEqual([sent[0], sent[0]]);
  made = job({ queue: 'mail' });
  await userEvent.click(submit);
  await waitFor(() => expect(asked.filter(({ method }) => method === 'POST').length).toBe(3));
  expect(asked.at(-1)?.headers.get('Idempotency-Key')).not.toBe(sent[0]);
});

test('what the server remarks about an accepted job is shown', async () => {
  const detail = 'No connected worker runs the task "x" in the queue mail. The job waits until one connects.';
  const made = job({ task: 'x', hints: [{ kind: 'no-worker', detail }] });
  serve({ ...ME, 'POST /jobs': made, [`GET /jobs/${made.id}`]: made });
  renderAt(<Form />);
  fill(await screen.findByLabelText('URL'), 'https://example.com/hook');
  await userEvent.click(screen.getByRole('button', { name: 'Submit' }));
  expect(await screen.findByText(detail)).toBeDefined();
});

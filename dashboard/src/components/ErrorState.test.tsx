import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import { answer } from '@/api/client';
import { client } from '@/api/client';
import { ApiError } from '@/api/problem';
import { problem, serve } from '@/testing/server';
import { ErrorState } from './ErrorState';

async function errorOf(response: () => Response): Promise<unknown> {
  serve({ 'GET /queues': response });
  return answer(client.GET('/api/v1/queues')).catch((error: unknown) => error);
}

describe('what is shown instead', () => {
  it('says what the server said, with the id that finds it in the logs', async () => {
    const error = await errorOf(() => problem(503, 'Unavailable', 'the store is away', 'req-42'));
    render(<ErrorState error={error} />);
    const alert = screen.getByRole('alert').textContent;
    expect(alert).toContain('Unavailable');
    expect(alert).toContain('the store is away');
    expect(alert).toContain('req-42');
  });

  it('says so when an answer explains nothing, and takes the id from the header', async () => {
    const error = await errorOf(
      () => new Response('<html>bad gateway', { status: 502, headers: { 'X-Request-ID': 'req-7' } }),
    );
    expect(error).toBeInstanceOf(ApiError);
    render(<ErrorState error={error} />);
    expect(screen.getByRole('alert').textContent).toMatch(/502.*req-7/);
  });

  it('says so when nobody answers, and asks again', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('failed to fetch')));
    const error = await answer(client.GET('/api/v1/queues')).catch((thrown: unknown) => thrown);
    const retry = vi.fn();
    render(<ErrorState error={error} retry={retry} />);
    expect(screen.getByRole('alert').textContent).toContain(
      'This page reloads as soon as the server is back.',
    );
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(retry).toHaveBeenCalledOnce();
  });

  it('says of a change that it was not sent, and does not claim to send it again', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('failed to fetch')));
    const pause = client.POST('/api/v1/queues/{queue}/pause', { params: { path: { queue: 'mail' } } });
    const error = await answer(pause).catch((thrown: unknown) => thrown);
    render(<ErrorState error={error} />);
    expect(screen.getByRole('alert').textContent).toBe(
      'No responseNot confirmed: the server is unreachable. Check whether the change was made, and try again when the server is back.',
    );
  });
});

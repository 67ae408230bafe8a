import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import type { Liveness } from '@/live/live';
import { StreamNotice } from './StreamBanner';

function show(liveness: Liveness, onRetry = () => undefined) {
  render(<StreamNotice liveness={liveness} onRetry={onRetry} />);
}

describe('the banner', () => {
  it.each<Liveness>([{ state: 'live' }, { state: 'connecting' }, { state: 'refused', status: 401 }])(
    'is not there while $state',
    (liveness) => {
      show(liveness);
      expect(screen.getByRole('status').textContent).toBe('');
    },
  );

  it('says since when nothing was heard', () => {
    show({ state: 'stale', since: Date.now() - 60_000 });
    expect(screen.getByRole('status').textContent).toMatch(
      /No response from the server.*1m ago.*out of date/,
    );
  });

  it('says that the connection is lost and when it is tried again, and tries at once when told so', async () => {
    const onRetry = vi.fn();
    show({ state: 'lost', since: Date.now() - 5_000, retryAt: Date.now() + 4_000 }, onRetry);
    expect(screen.getByRole('status').textContent).toMatch(/Connection lost.*5s ago.*Reconnecting in 4s/);
    await userEvent.click(screen.getByRole('button', { name: 'Try now' }));
    expect(onRetry).toHaveBeenCalledOnce();
  });

  it('names the scope that is missing, and says how old what is shown can be', () => {
    show({ state: 'refused', status: 403 });
    expect(screen.getByRole('status').textContent).toMatch(/not live.*stream:read.*every 15 seconds/);
  });
});

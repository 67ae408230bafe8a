import { cleanup, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import { renderAt } from '@/testing/render';
import { serve } from '@/testing/server';
import { Filters, fromLocal, toLocal } from './Filters';
import type { JobsSearch } from './search';

async function show(search: JobsSearch = {}) {
  serve({ 'GET /queues': { items: [] } });
  const onChoose = vi.fn<(next: Partial<JobsSearch>) => void>();
  const { router } = renderAt(<Filters search={search} onChoose={onChoose} />);
  await screen.findByLabelText('Queue');
  return { onChoose, router };
}

describe('the filters', () => {
  it('show what the URL says', async () => {
    await show({ queue: 'letters', tag: 'spring' });
    expect(screen.getByLabelText<HTMLInputElement>('Queue').value).toBe('letters');
    expect(screen.getByLabelText<HTMLInputElement>('Tag').value).toBe('spring');
  });

  it('fold the rare ones away until they are asked for, or until the URL has one', async () => {
    await show({ queue: 'letters' });
    const more = screen.getByRole('button', { name: 'Filters' });
    expect(more.getAttribute('aria-expanded')).toBe('false');
    await userEvent.click(more);
    expect(more.getAttribute('aria-expanded')).toBe('true');
    cleanup();
    await show({ created_after: '2026-11-15T12:00:00Z', correlation_id: 'order-7' });
    expect(screen.getByRole('button', { name: 'Filters (2)' }).getAttribute('aria-expanded')).toBe('true');
  });

  it('say that only one error is shown, and show the others again', async () => {
    const { onChoose } = await show({ error_group: '0123456789abcdef' });
    await userEvent.click(screen.getByRole('button', { name: 'Show all jobs' }));
    expect(onChoose).toHaveBeenCalledWith({ error_group: undefined });
  });

  it('take effect on Enter', async () => {
    const { onChoose } = await show();
    await userEvent.type(screen.getByLabelText('Tag'), ' spring {Enter}');
    expect(onChoose).toHaveBeenCalledWith({ tag: 'spring' });
  });

  it('take effect when one goes on, and lose nothing that is being written', async () => {
    const { onChoose } = await show();
    await userEvent.type(screen.getByLabelText('Queue'), 'letters');
    expect(onChoose).not.toHaveBeenCalled();
    await userEvent.type(screen.getByLabelText('Kind'), 'em');
    expect(onChoose).toHaveBeenCalledWith({ queue: 'letters' });
    expect(screen.getByLabelText<HTMLInputElement>('Kind').value).toBe('em');
  });

  it('are taken away by emptying them', async () => {
    const { onChoose } = await show({ queue: 'letters' });
    await userEvent.clear(screen.getByLabelText('Queue'));
    await userEvent.tab();
    expect(onChoose).toHaveBeenCalledWith({ queue: undefined });
  });

  it('open a job whose id is written, and filter by anything else', async () => {
    const { onChoose, router } = await show();
    const box = screen.getByLabelText('Search jobs');
    await userEvent.type(box, 'correlation:order-7{Enter}');
    expect(onChoose).toHaveBeenCalledWith({ correlation_id: 'order-7' });
    await userEvent.type(box, '01a1e179-2ff7-7602-a29c-6d26d5c1ffaf{Enter}');
    await vi.waitFor(() =>
      expect(router.state.location.pathname).toBe('/jobs/01a1e179-2ff7-7602-a29c-6d26d5c1ffaf'),
    );
  });

  it('speak of instants, whatever zone the reader is in', () => {
    const instant = '2026-11-15T12:34:00.000Z';
    expect(fromLocal(toLocal(instant))).toBe(instant);
    expect(fromLocal('nonsense')).toBeUndefined();
  });
});

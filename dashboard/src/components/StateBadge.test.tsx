import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { STATES } from '@/api/documents';
import { STATE_LOOKS, StateBadge } from './StateBadge';

describe('the badge of a state', () => {
  it.each(STATES)('says %s in words', (state) => {
    render(<StateBadge state={state} />);
    expect(screen.getByText(state)).toBeTruthy();
  });

  it('never leaves it to the colour: each state has an icon of its own', () => {
    expect(new Set(STATES.map((state) => STATE_LOOKS[state].icon)).size).toBe(STATES.length);
  });
});

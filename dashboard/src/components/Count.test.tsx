import { render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { Count } from './Count';

describe('a count', () => {
  it('is exact when somebody counted', () => {
    const { container } = render(<Count count={12_345} />);
    expect(container.textContent).toBe('12,345');
  });

  it('is marked when nobody did, for eyes and for ears', () => {
    const { container } = render(<Count count={10_000} estimate />);
    expect(container.querySelector('[aria-hidden]')?.textContent).toBe('10,000+');
    expect(container.querySelector('.sr-only')?.textContent).toBe('at least 10,000');
  });

  it('is short when it is long', () => {
    const { container } = render(<Count count={1_234_567} />);
    expect(container.textContent).toBe('1.2M');
  });
});

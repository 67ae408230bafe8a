import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { Code } from './Code';
import { JsonView } from './JsonView';
import { SafeLink } from './SafeLink';

const MARKUP = '<script>alert(1)</script><img src=x onerror="alert(2)"><a href="javascript:alert(3)">x</a>';

describe('what a job carries', () => {
  it('stays text, whatever markup is in it', () => {
    const { container } = render(<JsonView label="Payload" value={{ note: MARKUP }} />);
    expect(container.querySelector('script, img, a')).toBeNull();
    expect(JSON.parse(screen.getByRole('region', { name: 'Payload' }).textContent ?? '')).toEqual({
      note: MARKUP,
    });
  });

  it('is laid out when it is JSON inside text, and left alone when it is not', () => {
    render(<JsonView label="json" value='{"a":[1]}' />);
    render(<JsonView label="text" value="a { b" />);
    render(<JsonView label="number" value="12345678901234567890" />);
    expect(screen.getByRole('region', { name: 'json' }).textContent).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(screen.getByRole('region', { name: 'text' }).textContent).toBe('a { b');
    expect(screen.getByRole('region', { name: 'number' }).textContent).toBe('12345678901234567890');
  });

  it('is cut when it is long, and shown in full when asked for', async () => {
    render(<Code label="Output" text={'x'.repeat(100_000)} />);
    const region = screen.getByRole('region', { name: 'Output' });
    expect(region.textContent?.length).toBe(64 * 1024);
    await userEvent.click(screen.getByRole('button', { name: /Show all/ }));
    expect(region.textContent?.length).toBe(100_000);
  });
});

describe('a link from data', () => {
  it.each(['https://example.com/a', 'http://127.0.0.1:8080'])(
    'is followed to %s, and tells nothing',
    (href) => {
      render(<SafeLink href={href} />);
      expect(screen.getByRole('link').getAttribute('rel')).toBe('noopener noreferrer');
    },
  );

  it.each(['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', '//example.com', 'nonsense'])(
    'is no link when it is %s',
    (href) => {
      render(<SafeLink href={href} />);
      expect(screen.queryByRole('link')).toBeNull();
      expect(screen.getByText(href.trim())).toBeTruthy();
    },
  );
});

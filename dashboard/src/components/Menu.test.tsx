import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import { Menu, MenuItem } from './Menu';

function show() {
  const chosen = vi.fn();
  render(
    <>
      <Menu trigger={<button type="button">Actions</button>}>
        <MenuItem onSelect={() => chosen('run')}>Run</MenuItem>
        <MenuItem disabled onSelect={() => chosen('pause')}>
          Pause
        </MenuItem>
        <MenuItem onSelect={() => chosen('delete')}>Delete</MenuItem>
      </Menu>
      <p>elsewhere</p>
    </>,
  );
  return { chosen, button: screen.getByRole('button', { name: 'Actions' }) };
}

describe('a menu', () => {
  it('does what is chosen, closes, and gives the focus back', async () => {
    const { chosen, button } = show();
    expect(button.getAttribute('aria-expanded')).toBe('false');
    await userEvent.click(button);
    expect(button.getAttribute('aria-expanded')).toBe('true');
    await userEvent.click(screen.getByRole('menuitem', { name: 'Delete' }));
    expect(chosen).toHaveBeenCalledExactlyOnceWith('delete');
    expect(screen.queryByRole('menu')).toBeNull();
    expect(document.activeElement).toBe(button);
  });

  it('is gone through by keyboard, round and round, past what cannot be chosen', async () => {
    const { chosen, button } = show();
    button.focus();
    await userEvent.keyboard('{ArrowDown}');
    expect(document.activeElement?.textContent).toBe('Run');
    await userEvent.keyboard('{ArrowDown}');
    expect(document.activeElement?.textContent).toBe('Delete');
    await userEvent.keyboard('{ArrowDown}{ArrowUp}{Enter}');
    expect(chosen).toHaveBeenCalledExactlyOnceWith('delete');
  });

  it('closes on Escape, and when one looks elsewhere', async () => {
    const { chosen, button } = show();
    await userEvent.click(button);
    await userEvent.keyboard('{Escape}');
    expect(screen.queryByRole('menu')).toBeNull();
    expect(document.activeElement).toBe(button);
    await userEvent.click(button);
    await userEvent.click(screen.getByText('elsewhere'));
    expect(screen.queryByRole('menu')).toBeNull();
    expect(chosen).not.toHaveBeenCalled();
  });
});

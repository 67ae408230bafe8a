// A menu of things to do, on the browser's own top layer, so that no table or dialog cuts it off.
import { clsx } from 'clsx';
import { Check, type LucideIcon } from 'lucide-react';
import {
  cloneElement,
  createContext,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type ComponentProps,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
} from 'react';

/** Closes the menu and gives the focus back before the item does what it does. */
const Close = createContext<() => void>(() => undefined);

interface MenuProps {
  /** The button that opens it. */
  trigger: ReactElement<ComponentProps<'button'>>;
  align?: 'start' | 'end';
  /** As wide as what it stands in. */
  wide?: boolean;
  children: ReactNode;
}

export function Menu({ trigger, align = 'end', wide = false, children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  const close = useCallback(() => {
    setOpen(false);
    anchor.current?.querySelector('button')?.focus();
  }, []);
  return (
    <span ref={anchor} className={clsx('inline-flex min-w-0', wide && 'w-full')}>
      {cloneElement(trigger, {
        'aria-haspopup': 'menu',
        'aria-expanded': isOpen,
        onClick: () => setOpen(!isOpen),
        onKeyDown: (event: KeyboardEvent) => {
          if (event.key !== 'ArrowDown' || isOpen) return;
          event.preventDefault();
          setOpen(true);
        },
      })}
      {isOpen && (
        <Close value={close}>
          <Panel anchor={anchor} align={align} onDismiss={() => setOpen(false)}>
            {children}
          </Panel>
        </Close>
      )}
    </span>
  );
}

interface PanelProps {
  anchor: React.RefObject<HTMLElement | null>;
  align: 'start' | 'end';
  /** Closed by looking elsewhere: the focus stays where it went. */
  onDismiss: () => void;
  children: ReactNode;
}

function Panel({ anchor, align, onDismiss, children }: PanelProps) {
  const panel = useRef<HTMLDivElement>(null);
  const close = useContext(Close);

  useLayoutEffect(() => {
    const element = panel.current;
    if (element === null || anchor.current === null) return;
    element.showPopover?.();
    place(element, anchor.current, align);
    items(element)[0]?.focus();
  }, [anchor, align]);

  useEffect(() => {
    const elsewhere = (event: Event) => {
      const target = event.target;
      if (target instanceof Node && anchor.current?.contains(target) === true) return;
      onDismiss();
    };
    const scrolled = (event: Event) => {
      if (event.target !== panel.current) onDismiss();
    };
    document.addEventListener('pointerdown', elsewhere);
    document.addEventListener('focusin', elsewhere);
    addEventListener('scroll', scrolled, { capture: true });
    addEventListener('resize', onDismiss);
    return () => {
      document.removeEventListener('pointerdown', elsewhere);
      document.removeEventListener('focusin', elsewhere);
      removeEventListener('scroll', scrolled, { capture: true });
      removeEventListener('resize', onDismiss);
    };
  }, [anchor, onDismiss]);

  const pressed = (event: KeyboardEvent) => {
    if (panel.current === null) return;
    const all = items(panel.current);
    const at = all.findIndex((item) => item === document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (next !== undefined) all.at(next % all.length)?.focus();
    else if (event.key === 'Escape' || event.key === 'Tab') close();
    else return;
    // Also keeps a dialog open whose menu is closed with Escape.
    if (event.key !== 'Tab') event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={panel}
      role="menu"
      tabIndex={-1}
      popover="manual"
      onKeyDown={pressed}
      className="fixed inset-auto m-0 max-h-96 min-w-44 animate-enter overflow-y-auto rounded-lg border bg-surface p-1 text-sm text-ink shadow-high"
    >
      {children}
    </div>
  );
}

const GAP = 6;

/** Under the button, or over it where there is no room, and never beyond the edge. */
function place(panel: HTMLElement, anchor: HTMLElement, align: 'start' | 'end'): void {
  const button = (anchor.firstElementChild ?? anchor).getBoundingClientRect();
  const { width, height } = panel.getBoundingClientRect();
  const below = button.bottom + GAP;
  const top = below + height <= innerHeight ? below : Math.max(GAP, button.top - GAP - height);
  const left = align === 'start' ? button.left : button.right - width;
  panel.style.top = `${top}px`;
  panel.style.left = `${Math.max(GAP, Math.min(left, document.documentElement.clientWidth - width - GAP))}px`;
}

function items(panel: HTMLElement): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)')];
}

interface MenuItemProps {
  icon?: LucideIcon;
  danger?: boolean;
  checked?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({
  icon: Icon,
  danger = false,
  checked,
  disabled = false,
  onSelect,
  children,
}: MenuItemProps) {
  const close = useContext(Close);
  return (
    <button
      type="button"
      role={checked === undefined ? 'menuitem' : 'menuitemcheckbox'}
      aria-checked={checked}
      tabIndex={-1}
      disabled={disabled}
      onClick={() => {
        close();
        onSelect();
      }}
      onPointerMove={(event) => event.currentTarget.focus()}
      className={clsx(
        'flex min-h-8 w-full items-center gap-2 rounded-md px-2 text-left outline-none select-none focus:bg-hover disabled:cursor-not-allowed disabled:opacity-50',
        danger && 'text-bad',
        checked === true && 'font-semibold text-accent',
      )}
    >
      {Icon !== undefined && <Icon aria-hidden className="size-4 shrink-0" />}
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {checked === true && <Check aria-hidden className="size-4 shrink-0" />}
    </button>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <p className="px-2 py-1 text-xs text-faint">{children}</p>;
}

export function MenuSeparator() {
  return <hr className="my-1" />;
}

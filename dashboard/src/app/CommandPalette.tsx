import { useNavigate } from '@tanstack/react-router';
import { clsx } from 'clsx';
import { ArrowRight, CornerDownLeft, Hash, Link2, Plus, Search, Tag, type LucideIcon } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import { useIsOperator } from '@/api/session';
import { Kbd } from '@/components/Kbd';
import { readSearch } from './lookup';
import { PLACES } from './navigation';

interface Entry {
  id: string;
  icon: LucideIcon;
  label: string;
  note: string;
  go: () => void;
}

/** One box for everything one looks for: a job by id, `tag:`, `correlation:`, `queue:`, `kind:`, or a page by name. */
export function CommandPalette({ open, onClose }: { open: boolean; onClose: () => void }) {
  return open ? <Palette onClose={onClose} /> : null;
}

function Palette({ onClose }: { onClose: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const entries = useEntries(text);
  const chosen = entries[Math.min(at, entries.length - 1)];
  useEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  const follow = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.go();
  };
  const pressed = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setAt(
        (before) =>
          (Math.min(before, entries.length - 1) + step + entries.length) % Math.max(1, entries.length),
      );
    } else if (event.key === 'Enter') {
      event.preventDefault();
      follow(chosen);
    }
  };
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- Escape does the same
    <dialog
      ref={ref}
      aria-label="Search"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
      className="mx-auto mt-[12vh] w-[calc(100vw-2rem)] max-w-xl animate-enter overflow-hidden rounded-xl border bg-surface p-0 shadow-high"
    >
      <div className="flex items-center gap-2 border-b px-4">
        <Search aria-hidden className="size-4 text-faint" />
        <input
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- it was opened to write into
          autoFocus
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={chosen === undefined ? undefined : `${id}-${chosen.id}`}
          aria-label="Search for a job, a tag or a page"
          placeholder="Job id, tag:eu, correlation:order-7, or a page"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={pressed}
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none"
        />
        <Kbd>Esc</Kbd>
      </div>
      <div id={`${id}-list`} role="listbox" aria-label="Results" className="max-h-80 overflow-y-auto p-2">
        {entries.map((entry) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the box above has the keys
          <div
            key={entry.id}
            id={`${id}-${entry.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={entry === chosen}
            onClick={() => follow(entry)}
            onMouseMove={() => setAt(entries.indexOf(entry))}
            className={clsx(
              'flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-sm',
              entry === chosen && 'bg-accent-soft text-accent',
            )}
          >
            <entry.icon aria-hidden className="size-4 shrink-0" />
            <span className="min-w-0 truncate font-medium">{entry.label}</span>
            <span className="ml-auto shrink-0 text-xs text-muted">{entry.note}</span>
            {entry === chosen && <CornerDownLeft aria-hidden className="size-3.5 shrink-0" />}
          </div>
        ))}
      </div>
    </dialog>
  );
}

const ICONS = {
  id: Hash,
  tag: Tag,
  correlation_id: Link2,
  queue: ArrowRight,
  kind: ArrowRight,
  state: ArrowRight,
};

function useEntries(text: string): Entry[] {
  const navigate = useNavigate();
  const isOperator = useIsOperator();
  const found: Entry[] = readSearch(text).map(({ field, value }) => ({
    id: field,
    icon: ICONS[field],
    label: value,
    note: field === 'id' ? 'open the job' : `jobs by ${field.replace('_', ' ')}`,
    go: () =>
      void (field === 'id'
        ? navigate({ to: '/jobs/$id', params: { id: value } })
        : navigate({ to: '/jobs', search: { [field]: value } })),
  }));
  const words = text.trim().toLowerCase();
  const pages: Entry[] = PLACES.filter(
    ({ label, operators }) => (isOperator || operators !== true) && label.toLowerCase().includes(words),
  ).map(({ to, label, icon }) => ({
    id: `page-${label}`,
    icon,
    label,
    note: 'page',
    go: () => void navigate({ to }),
  }));
  const submit: Entry[] = 'submit a job'.includes(words)
    ? [
        {
          id: 'submit',
          icon: Plus,
          label: 'Submit a job',
          note: 'page',
          go: () => void navigate({ to: '/submit' }),
        },
      ]
    : [];
  return [...found, ...pages, ...submit];
}

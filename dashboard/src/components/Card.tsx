import { clsx } from 'clsx';
import { useId, type ReactNode } from 'react';

interface CardProps {
  title?: ReactNode;
  /** A few words beside the title. */
  note?: ReactNode;
  actions?: ReactNode;
  /** Without padding, for a table or a list that brings its own. */
  flush?: boolean;
  className?: string;
  children: ReactNode;
}

export function Card({ title, note, actions, flush = false, className, children }: CardProps) {
  const id = useId();
  return (
    <section
      aria-labelledby={title === undefined ? undefined : id}
      className={clsx('min-w-0 rounded-lg border bg-surface shadow-low', className)}
    >
      {title !== undefined && (
        <header
          className={clsx(
            'flex min-h-11 flex-wrap items-center gap-x-2 gap-y-1 px-4 py-2',
            flush && 'border-b',
          )}
        >
          <h2 id={id} className="text-sm font-semibold">
            {title}
          </h2>
          {note !== undefined && <span className="text-xs text-faint">{note}</span>}
          {actions !== undefined && <div className="ml-auto flex items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={flush ? '' : clsx('px-4 pb-4', title === undefined && 'pt-4')}>{children}</div>
    </section>
  );
}

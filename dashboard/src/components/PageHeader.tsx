import { useEffect, type ReactNode } from 'react';

interface PageHeaderProps {
  title: string;
  /** The same line shown richer, such as an id in a fixed-width face. */
  shown?: ReactNode;
  /** One sentence for who has never been here. */
  note?: ReactNode;
  actions?: ReactNode;
}

export function PageHeader({ title, shown, note, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · Foreman`;
  }, [title]);
  return (
    <header className="mb-4 flex flex-wrap items-start gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-60">
        <h1 className="text-xl font-semibold tracking-tight">{shown ?? title}</h1>
        {note !== undefined && <p className="text-sm text-muted">{note}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}

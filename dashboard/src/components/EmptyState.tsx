import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

interface EmptyStateProps {
  icon: LucideIcon;
  title: string;
  /** What would be here, and how it comes here. */
  children?: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center px-6 py-12 text-center">
      <div className="mb-3 flex size-10 items-center justify-center rounded-full bg-grey-soft text-muted">
        <Icon aria-hidden className="size-5" />
      </div>
      <p className="font-semibold">{title}</p>
      {children !== undefined && <div className="mt-1 max-w-prose text-sm text-muted">{children}</div>}
      {action !== undefined && <div className="mt-4 w-full max-w-xl">{action}</div>}
    </div>
  );
}

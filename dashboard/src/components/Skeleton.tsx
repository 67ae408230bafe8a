import { clsx } from 'clsx';

export function Skeleton({ className }: { className?: string }) {
  return (
    <span
      aria-hidden
      className={clsx('block animate-breathe rounded bg-grey-soft', className ?? 'h-4 w-full')}
    />
  );
}

/** Where rows will be. Says so once to those who do not see it. */
export function SkeletonRows({ rows = 8, label = 'Loading' }: { rows?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className="divide-y">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className="flex h-10 items-center gap-4 px-4">
          <Skeleton className="h-4 w-20" />
          <Skeleton className={clsx('h-4', at % 3 === 0 ? 'w-1/3' : at % 3 === 1 ? 'w-1/4' : 'w-2/5')} />
          <Skeleton className="ml-auto h-4 w-16" />
        </div>
      ))}
    </div>
  );
}

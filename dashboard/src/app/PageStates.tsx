import { ErrorState } from '@/components/ErrorState';
import { Skeleton, SkeletonRows } from '@/components/Skeleton';

/** While the page's own code is on its way. */
export function PagePending() {
  return (
    <>
      <Skeleton className="mb-6 h-7 w-40" />
      <SkeletonRows rows={8} label="Loading the page" />
    </>
  );
}

/** A page that threw. The others still work. */
export function PageError({ error, reset }: { error: unknown; reset: () => void }) {
  return <ErrorState error={error} retry={reset} />;
}

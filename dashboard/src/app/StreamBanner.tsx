import { clsx } from 'clsx';
import { CloudOff, Info, TriangleAlert, type LucideIcon } from 'lucide-react';
import { Button } from '@/components/Button';
import { Countdown } from '@/components/Duration';
import { RelativeTime } from '@/components/RelativeTime';
import { useLive, useLiveness } from '@/live/LiveProvider';
import { REREAD_MS, type Liveness } from '@/live/live';

/** Says when what is on the screen may no longer be so. */
export function StreamBanner() {
  const liveness = useLiveness();
  const live = useLive();
  return <StreamNotice liveness={liveness} onRetry={() => live?.retry()} />;
}

export function StreamNotice({ liveness, onRetry }: { liveness: Liveness; onRetry: () => void }) {
  return (
    <div role="status" aria-live="polite" className="sticky top-13 z-20 md:top-0">
      {liveness.state === 'lost' && (
        <Notice icon={CloudOff} onRetry={onRetry}>
          <strong className="font-semibold">Connection lost.</strong> What you see is from{' '}
          <RelativeTime at={new Date(liveness.since).toISOString()} />. Reconnecting in{' '}
          <Countdown to={new Date(liveness.retryAt).toISOString()} over="a moment" />.
        </Notice>
      )}
      {liveness.state === 'stale' && (
        <Notice icon={TriangleAlert} onRetry={onRetry}>
          <strong className="font-semibold">No response from the server</strong> since{' '}
          <RelativeTime at={new Date(liveness.since).toISOString()} />. What you see may be out of date.
        </Notice>
      )}
      {liveness.state === 'refused' && liveness.status === 403 && (
        <Notice calm icon={Info} onRetry={onRetry} retry="Refresh">
          <strong className="font-semibold">This page is not live:</strong> your key lacks the scope{' '}
          <code className="font-mono">stream:read</code>. It refreshes every {REREAD_MS / 1000} seconds.
        </Notice>
      )}
      {liveness.state === 'refused' && liveness.status !== 401 && liveness.status !== 403 && (
        <Notice icon={TriangleAlert} onRetry={onRetry}>
          <strong className="font-semibold">This page is not live:</strong> {refusal(liveness.status)} Until
          then it refreshes every {REREAD_MS / 1000} seconds.
        </Notice>
      )}
    </div>
  );
}

function refusal(status: number): string {
  if (status === 429) return 'too many streams are open for this tenant. Reconnecting.';
  return `the server rejected the event stream with status ${status}. Reconnecting.`;
}

interface NoticeProps {
  icon: LucideIcon;
  /** Nothing is wrong that would pass by itself. */
  calm?: boolean;
  retry?: string;
  onRetry: () => void;
  children: React.ReactNode;
}

function Notice({ icon: Icon, calm = false, retry = 'Try now', onRetry, children }: NoticeProps) {
  return (
    <div
      className={clsx(
        'flex items-center gap-3 border-b px-4 py-2 text-sm md:px-6',
        calm ? 'bg-sunken text-muted' : 'bg-warn-soft text-warn',
      )}
    >
      <Icon aria-hidden className="size-4 shrink-0" />
      <p className="min-w-0 flex-1">{children}</p>
      <Button size="sm" onClick={onRetry}>
        {retry}
      </Button>
    </div>
  );
}

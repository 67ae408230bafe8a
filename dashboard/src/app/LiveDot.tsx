import { clsx } from 'clsx';
import { useLiveness } from '@/live/LiveProvider';

const WORDS = {
  connecting: {
    text: 'Connecting',
    dot: 'bg-control animate-breathe',
    explained: 'Waiting for the first event',
  },
  live: { text: 'Live', dot: 'bg-good', explained: 'This page updates automatically' },
  stale: { text: 'Stale', dot: 'bg-warn', explained: 'No events received for a while' },
  lost: { text: 'Offline', dot: 'bg-bad', explained: 'The connection is lost' },
  refused: { text: 'Not live', dot: 'bg-warn', explained: 'The server rejected the event stream' },
};

export function LiveDot() {
  const { state } = useLiveness();
  const { text, dot, explained } = WORDS[state];
  return (
    <span title={explained} className="inline-flex items-center gap-1.5 text-xs text-muted">
      <span aria-hidden className={clsx('size-2 rounded-full', dot)} />
      {text}
    </span>
  );
}

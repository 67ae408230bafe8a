import { clsx } from 'clsx';
import { useLiveness } from '@/live/LiveProvider';

const WORDS = {
  connecting: {
    text: 'Connecting',
    dot: 'bg-control animate-breathe',
    explained: 'Waiting for the first news',
  },
  live: { text: 'Live', dot: 'bg-good', explained: 'Everything you see changes by itself' },
  stale: { text: 'Stale', dot: 'bg-warn', explained: 'Nothing has been heard for a while' },
  lost: { text: 'Offline', dot: 'bg-bad', explained: 'The connection is lost' },
  refused: { text: 'Not live', dot: 'bg-warn', explained: 'The server does not give us its stream' },
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

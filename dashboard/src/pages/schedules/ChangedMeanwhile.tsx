import { UsersRound } from 'lucide-react';
import type { Schedule } from '@/api/documents';
import { Button } from '@/components/Button';
import { RelativeTime } from '@/components/RelativeTime';
import { written } from './words';

interface ChangedMeanwhileProps {
  before: Schedule;
  now: Schedule;
  onTake: () => void;
}

/** Somebody else saved first. Says what it is now, so that one can decide whose it shall be. */
export function ChangedMeanwhile({ before, now, onTake }: ChangedMeanwhileProps) {
  return (
    <div role="alert" className="space-y-2 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
      <p className="flex items-start gap-2">
        <UsersRound aria-hidden className="mt-0.5 size-4 shrink-0" />
        <span>
          <strong className="font-semibold">Someone else changed this schedule</strong>{' '}
          <RelativeTime at={now.updated_at} /> (version {before.version} became {now.version}). It is now:{' '}
          <span className="text-ink">
            {now.description} (<code className="font-mono">{written(now)}</code>), {now.state}
            {JSON.stringify(before.job) !== JSON.stringify(now.job) && ', with a different job'}
          </span>
          .
        </span>
      </p>
      <Button size="sm" onClick={onTake}>
        Discard my changes and reload
      </Button>
    </div>
  );
}

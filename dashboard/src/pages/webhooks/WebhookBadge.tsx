import { CircleCheck, CircleOff, TriangleAlert } from 'lucide-react';
import type { Webhook } from '@/api/documents';
import { Badge } from '@/components/Badge';
import { RelativeTime } from '@/components/RelativeTime';
import { healthOf, shortened } from './words';

const ICONS = { enabled: CircleCheck, disabled: CircleOff, failing: TriangleAlert };

export function WebhookBadge({ webhook }: { webhook: Webhook }) {
  const { word, tone, why } = healthOf(webhook);
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Badge tone={tone} icon={ICONS[word]}>
        {word}
      </Badge>
      {why !== null && (
        <span className="text-xs text-muted">
          {why}
          {word === 'failing' && (
            <>
              , the first <RelativeTime at={webhook.failing_since} />
            </>
          )}
        </span>
      )}
    </span>
  );
}

export function EventList({ events }: { events: string[] }) {
  return (
    <span className="flex flex-wrap gap-1">
      {shortened(events).map((event) => (
        <code key={event} className="rounded bg-grey-soft px-1.5 font-mono text-xs text-grey">
          {event}
        </code>
      ))}
    </span>
  );
}

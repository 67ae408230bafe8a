import { Link, type LinkProps } from '@tanstack/react-router';
import {
  CalendarX2,
  ChevronRight,
  CircleX,
  Cpu,
  PauseCircle,
  Skull,
  Unplug,
  Webhook,
  type LucideIcon,
} from 'lucide-react';
import type { Attention as Item, AttentionKind } from '@/api/documents';
import { Card } from '@/components/Card';
import { RelativeTime } from '@/components/RelativeTime';

interface Look {
  icon: LucideIcon;
  label: string;
  to: Pick<LinkProps, 'to' | 'search'>;
}

const LOOKS: Record<AttentionKind, Look> = {
  'dead-jobs': { icon: Skull, label: 'Dead jobs', to: { to: '/dead', search: { state: 'dead' } } },
  'failed-jobs': { icon: CircleX, label: 'Failed jobs', to: { to: '/dead', search: { state: 'failed' } } },
  'no-worker': { icon: Unplug, label: 'No worker', to: { to: '/jobs', search: { state: 'pending' } } },
  'paused-queue': { icon: PauseCircle, label: 'Paused queue', to: { to: '/queues' } },
  'lapsed-worker': { icon: Cpu, label: 'Lost worker', to: { to: '/workers' } },
  'late-schedules': { icon: CalendarX2, label: 'Late schedules', to: { to: '/schedules' } },
  'disabled-webhook': { icon: Webhook, label: 'Disabled webhook', to: { to: '/webhooks' } },
};

/** What somebody should look at, and the way there. */
export function Attention({ items }: { items: Item[] }) {
  return (
    <Card title="Needs attention" flush>
      <ul className="divide-y">
        {items.map((item) => {
          // A later server may know more reasons than this page.
          const look = LOOKS[item.kind] ?? { icon: ChevronRight, label: item.kind, to: { to: '/' } };
          return (
            <li key={`${item.kind} ${item.subject}`}>
              <Link
                {...look.to}
                className="flex items-center gap-3 px-4 py-2 text-sm transition-colors hover:bg-hover focus-visible:-outline-offset-2"
              >
                <span className="flex size-7 shrink-0 items-center justify-center rounded-full bg-warn-soft text-warn">
                  <look.icon aria-hidden className="size-4" />
                </span>
                <span className="min-w-0 flex-1">
                  <span className="sr-only">{look.label}: </span>
                  {item.detail}
                </span>
                {typeof item.since === 'string' && (
                  <span className="shrink-0 text-xs text-faint">
                    <RelativeTime at={item.since} />
                  </span>
                )}
                <ChevronRight aria-hidden className="size-4 shrink-0 text-faint" />
              </Link>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

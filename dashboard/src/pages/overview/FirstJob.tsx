import { Link } from '@tanstack/react-router';
import { HardHat } from 'lucide-react';
import { useWhoami } from '@/api/session';
import { buttonClass } from '@/components/Button';
import { Card } from '@/components/Card';
import { Code } from '@/components/Code';
import { EmptyState } from '@/components/EmptyState';

/** What a new user sees: how to make something happen. */
export function FirstJob({ bare = false }: { bare?: boolean }) {
  const asksForKey = useWhoami().data?.key !== null;
  const key = asksForKey ? ` \\\n  -H "Authorization: Bearer $FOREMAN_API_KEY"` : '';
  const curl = `curl ${location.origin}/api/v1/jobs${key} \\\n  -H 'Content-Type: application/json' \\\n  -d '{"url": "https://example.com/hook", "payload": {"hello": "world"}}'`;
  const inside = (
    <EmptyState
      icon={HardHat}
      title="Ready for the first job"
      action={
        <div className="space-y-4 text-left">
          <Code label="Submit a job with curl" text={curl} />
          <div className="flex flex-wrap justify-center gap-2">
            <Link to="/submit" className={buttonClass('primary')}>
              Or fill in a form
            </Link>
            <Link to="/schedules" className={buttonClass()}>
              Or create a schedule
            </Link>
          </div>
        </div>
      }
    >
      Foreman calls a URL or runs a command, and retries it when it fails. Submit a job and watch it appear
      here.
    </EmptyState>
  );
  return bare ? inside : <Card>{inside}</Card>;
}

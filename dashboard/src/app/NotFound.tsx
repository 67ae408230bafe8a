import { Link } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { buttonClass } from '@/components/Button';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function NotFound() {
  return (
    <>
      <PageHeader title="Not found" />
      <EmptyState
        icon={Compass}
        title="There is no such page"
        action={
          <Link to="/" className={buttonClass('primary')}>
            Go to the overview
          </Link>
        }
      >
        The address may be mistyped, or belong to another version.
      </EmptyState>
    </>
  );
}

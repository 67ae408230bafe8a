import { KeyRound } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function SignInPage() {
  return (
    <>
      <PageHeader title="Sign in" />
      <EmptyState icon={KeyRound} title="Nothing here yet" />
    </>
  );
}

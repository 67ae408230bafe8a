import { LogOut } from 'lucide-react';
import { useSignOut, useWhoami } from '@/api/session';
import { IconButton } from '@/components/Button';
import { toast } from '@/components/toasts';

/** Nothing where the server asks for no key: there is nobody to sign out. */
export function SignOutButton() {
  const who = useWhoami().data;
  const signOut = useSignOut();
  if (who === undefined || who.key === null || who.key === undefined) return null;
  return (
    <IconButton
      label="Sign out"
      title={`Sign out the key ${who.key} of ${who.tenant}`}
      icon={LogOut}
      disabled={signOut.isPending}
      onClick={() =>
        signOut.mutate(undefined, { onError: (error) => toast.failed('Could not sign out', error) })
      }
    />
  );
}

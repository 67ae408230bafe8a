import { CircleUser, LogOut } from 'lucide-react';
import { useSignOut, useWhoami } from '@/api/session';
import { IconButton } from '@/components/Button';
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '@/components/Menu';
import { toast } from '@/components/toasts';

/** Nothing where the server asks for no key: there is nobody to sign out. */
export function AccountMenu() {
  const who = useWhoami().data;
  const signOut = useSignOut();
  if (who === undefined || who.key === null || who.key === undefined) return null;
  return (
    <Menu trigger={<IconButton label="Account" icon={CircleUser} />}>
      <MenuLabel>
        Key <code className="font-mono text-ink">{who.key}</code> of {who.tenant}
      </MenuLabel>
      <MenuLabel>May: {who.scopes.join(', ')}</MenuLabel>
      <MenuSeparator />
      <MenuItem
        icon={LogOut}
        onSelect={() =>
          signOut.mutate(undefined, { onError: (error) => toast.failed('You are still signed in', error) })
        }
      >
        Sign out
      </MenuItem>
    </Menu>
  );
}

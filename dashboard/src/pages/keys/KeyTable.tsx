import {
  CircleCheck,
  CircleOff,
  EllipsisVertical,
  RefreshCw,
  Ban,
  Timer,
  type LucideIcon,
} from 'lucide-react';
import { useState } from 'react';
import type { Key, MadeKey } from '@/api/documents';
import { useRevokeKey, useRotateKey } from '@/api/tenants';
import { Badge, type Tone } from '@/components/Badge';
import { IconButton } from '@/components/Button';
import { ConfirmDialog } from '@/components/ConfirmDialog';
import { Field, Select } from '@/components/Field';
import { Menu, MenuItem, MenuSeparator } from '@/components/Menu';
import { RelativeTime } from '@/components/RelativeTime';
import { Table, Td, Th, Tr } from '@/components/Table';
import { toast } from '@/components/toasts';
import { useWhoami } from '@/api/session';

interface KeyTableProps {
  tenant: string;
  apiKeys: Key[];
  onMade: (key: MadeKey) => void;
}

const LOOKS: Record<Key['state'], { tone: Tone; icon: LucideIcon }> = {
  live: { tone: 'good', icon: CircleCheck },
  expired: { tone: 'grey', icon: Timer },
  revoked: { tone: 'grey', icon: CircleOff },
};

export function KeyTable({ tenant, apiKeys, onMade }: KeyTableProps) {
  const [asked, setAsked] = useState<{ verb: 'rotate' | 'revoke'; key: Key } | null>(null);
  return (
    <>
      <Table label={`Keys of ${tenant}`}>
        <thead>
          <tr>
            <Th>Key</Th>
            <Th className="hidden md:table-cell">Scopes</Th>
            <Th>State</Th>
            <Th className="hidden sm:table-cell">Last used</Th>
            <Th className="hidden lg:table-cell">Expires</Th>
            <Th className="hidden lg:table-cell">Created</Th>
            <Th>
              <span className="sr-only">Actions</span>
            </Th>
          </tr>
        </thead>
        <tbody>
          {liveFirst(apiKeys).map((key) => (
            <Row key={key.id} apiKey={key} onAsk={(verb) => setAsked({ verb, key })} />
          ))}
        </tbody>
      </Table>
      {asked?.verb === 'revoke' && (
        <Revoke tenant={tenant} apiKey={asked.key} onClose={() => setAsked(null)} />
      )}
      {asked?.verb === 'rotate' && (
        <Rotate tenant={tenant} apiKey={asked.key} onMade={onMade} onClose={() => setAsked(null)} />
      )}
    </>
  );
}

function liveFirst(apiKeys: Key[]): Key[] {
  return apiKeys.toSorted((a, b) => Number(b.state === 'live') - Number(a.state === 'live'));
}

function Row({ apiKey, onAsk }: { apiKey: Key; onAsk: (verb: 'rotate' | 'revoke') => void }) {
  const isOwn = useWhoami().data?.key === apiKey.id;
  const { tone, icon } = LOOKS[apiKey.state];
  return (
    <Tr className={apiKey.state === 'live' ? '' : 'text-muted'}>
      <Td className="max-w-0 min-w-32 sm:max-w-60">
        <span className="block font-medium wrap-anywhere">
          {apiKey.name === '' ? <span className="text-faint">no name</span> : apiKey.name}{' '}
          {isOwn && <Badge tone="accent">yours</Badge>}
        </span>
        <code className="block truncate font-mono text-xs text-faint">fm_{apiKey.id}_…</code>
        <span className="block text-xs text-muted md:hidden">
          {apiKey.scopes.join(', ')}
          {typeof apiKey.expires_at === 'string' && typeof apiKey.replaced_by !== 'string' && (
            <>
              ; ends <RelativeTime at={apiKey.expires_at} />
            </>
          )}
        </span>
      </Td>
      <Td className="hidden md:table-cell">
        <span className="flex flex-wrap gap-1">
          {apiKey.scopes.map((scope) => (
            <code key={scope} className="rounded bg-grey-soft px-1.5 font-mono text-xs text-grey">
              {scope}
            </code>
          ))}
        </span>
      </Td>
      <Td>
        <Badge tone={tone} icon={icon}>
          {apiKey.state}
        </Badge>
        {typeof apiKey.replaced_by === 'string' && apiKey.state === 'live' && (
          <span className="block text-xs text-faint">
            replaced
            <span className="lg:hidden">
              , ends <RelativeTime at={apiKey.expires_at} />
            </span>
          </span>
        )}
      </Td>
      <Td className="hidden sm:table-cell">
        {typeof apiKey.last_used_at === 'string' ? (
          <RelativeTime at={apiKey.last_used_at} />
        ) : (
          <span className="text-faint">never</span>
        )}
      </Td>
      <Td className="hidden lg:table-cell">
        {typeof apiKey.expires_at === 'string' ? (
          <RelativeTime at={apiKey.expires_at} />
        ) : (
          <span className="text-faint">never</span>
        )}
      </Td>
      <Td className="hidden lg:table-cell">
        <RelativeTime at={apiKey.created_at} />
      </Td>
      <Td className="w-10 text-right">
        {apiKey.state === 'live' && (
          <Menu
            trigger={
              <IconButton
                label={`Actions for ${apiKey.name === '' ? apiKey.id : apiKey.name}`}
                icon={EllipsisVertical}
              />
            }
          >
            <MenuItem icon={RefreshCw} onSelect={() => onAsk('rotate')}>
              Rotate
            </MenuItem>
            <MenuSeparator />
            <MenuItem icon={Ban} danger onSelect={() => onAsk('revoke')}>
              Revoke
            </MenuItem>
          </Menu>
        )}
      </Td>
    </Tr>
  );
}

interface AskedProps {
  tenant: string;
  apiKey: Key;
  onClose: () => void;
}

function named({ name, id }: Key): string {
  return name === '' ? `fm_${id}_…` : name;
}

function Revoke({ tenant, apiKey, onClose }: AskedProps) {
  const revoke = useRevokeKey(tenant);
  const isOwn = useWhoami().data?.key === apiKey.id;
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() =>
        revoke.mutate(apiKey.id, {
          onSuccess: () => {
            toast.done(`${named(apiKey)} was revoked`, 'It is rejected everywhere within five seconds.');
            onClose();
          },
        })
      }
      title={`Revoke ${named(apiKey)}?`}
      confirm="Revoke"
      danger
      busy={revoke.isPending}
      error={revoke.error}
    >
      <p>
        Requests with this key are rejected within five seconds, on open streams too. This cannot be undone.
        To replace a key without an outage, rotate it.
      </p>
      {typeof apiKey.last_used_at === 'string' && (
        <p>
          It was last used <RelativeTime at={apiKey.last_used_at} className="font-medium text-ink" />.
        </p>
      )}
      {isOwn && <p className="font-medium text-bad">It is the key with which you are signed in.</p>}
    </ConfirmDialog>
  );
}

function Rotate({ tenant, apiKey, onMade, onClose }: AskedProps & { onMade: (key: MadeKey) => void }) {
  const rotate = useRotateKey(tenant);
  const [grace, setGrace] = useState('24h');
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() =>
        rotate.mutate(
          { key: apiKey.id, grace },
          {
            onSuccess: (made) => {
              onClose();
              onMade(made);
            },
          },
        )
      }
      title={`Rotate ${named(apiKey)}?`}
      confirm="Create a new key"
      busy={rotate.isPending}
      error={rotate.error}
    >
      <p>
        Creates a new key with the same scopes and shows it once. Both keys work until the old one expires.
      </p>
      <Field label="Keep the old one valid for">
        <Select value={grace} onChange={(event) => setGrace(event.target.value)}>
          <option value="1h">an hour</option>
          <option value="24h">a day</option>
          <option value="168h">a week</option>
          <option value="720h">30 days</option>
          <option value="0s">no time: it was leaked</option>
        </Select>
      </Field>
    </ConfirmDialog>
  );
}

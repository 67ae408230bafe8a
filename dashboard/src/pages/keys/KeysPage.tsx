import { Building2, EyeOff, KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import type { MadeKey, Tenant } from '@/api/documents';
import { useIsOperator, useWhoami } from '@/api/session';
import { chosenTenant } from '@/api/tenant';
import { useTenantKeys, useTenants } from '@/api/tenants';
import { Badge } from '@/components/Badge';
import { Button } from '@/components/Button';
import { Card } from '@/components/Card';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { Field, Select } from '@/components/Field';
import { PageHeader } from '@/components/PageHeader';
import { Pager } from '@/components/Pager';
import { SkeletonRows } from '@/components/Skeleton';
import { useCursors } from '@/components/useCursors';
import { CreateKeyDialog } from './CreateKeyDialog';
import { CreateTenantDialog } from './CreateTenantDialog';
import { KeyTable } from './KeyTable';
import { MadeKeyNote } from './MadeKeyNote';

export function KeysPage() {
  const isOperator = useIsOperator();
  return isOperator ? (
    <Keys />
  ) : (
    <>
      <PageHeader title="Keys" />
      <Card flush>
        <EmptyState icon={EyeOff} title="Keys are for operators">
          Only a key with the scope <code className="font-mono">admin</code> sees and makes keys.
        </EmptyState>
      </Card>
    </>
  );
}

function Keys() {
  const who = useWhoami().data;
  const tenants = useTenants().data?.items ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const [open, setOpen] = useState<'key' | 'tenant' | null>(null);
  const [made, setMade] = useState<MadeKey | null>(null);
  const tenant = chosen ?? chosenTenant() ?? who?.tenant ?? 'default';
  return (
    <>
      <PageHeader
        title="Keys"
        note="API keys and their scopes. A key belongs to one tenant, is shown once, and can be replaced without an outage."
        actions={
          <>
            <Button icon={Building2} onClick={() => setOpen('tenant')}>
              New tenant
            </Button>
            <Button variant="primary" icon={Plus} onClick={() => setOpen('key')}>
              New key
            </Button>
          </>
        }
      />
      {who?.key === null && (
        <p className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
          This server does not require a key: anyone who can reach it has full access. Keys you create here
          take effect once the server requires them.
        </p>
      )}
      <TenantField tenant={tenant} tenants={tenants} onChange={setChosen} />
      {/* Another tenant's pages are other pages. */}
      <KeyCard key={tenant} tenant={tenant} onMade={setMade} onNew={() => setOpen('key')} />
      {open === 'key' && <CreateKeyDialog tenant={tenant} onMade={setMade} onClose={() => setOpen(null)} />}
      {open === 'tenant' && <CreateTenantDialog onMade={setChosen} onClose={() => setOpen(null)} />}
      {made !== null && <MadeKeyNote made={made} onClose={() => setMade(null)} />}
    </>
  );
}

interface TenantFieldProps {
  tenant: string;
  tenants: Tenant[];
  onChange: (tenant: string) => void;
}

function TenantField({ tenant, tenants, onChange }: TenantFieldProps) {
  if (tenants.length < 2) return null;
  const shown = tenants.find(({ id }) => id === tenant);
  return (
    <div className="mb-4 flex flex-wrap items-end gap-3">
      <Field label="Tenant" className="w-full sm:w-60">
        <Select value={tenant} onChange={(event) => onChange(event.target.value)}>
          {tenants.map(({ id, disabled }) => (
            <option key={id} value={id}>
              {id}
              {disabled ? ' (disabled)' : ''}
            </option>
          ))}
        </Select>
      </Field>
      {shown?.disabled === true && (
        <Badge tone="warn" title="Its keys are rejected, and none of its jobs, schedules or deliveries run">
          disabled
        </Badge>
      )}
    </div>
  );
}

interface KeyCardProps {
  tenant: string;
  onMade: (key: MadeKey) => void;
  onNew: () => void;
}

function KeyCard({ tenant, onMade, onNew }: KeyCardProps) {
  const cursors = useCursors();
  const { data, error, refetch } = useTenantKeys(tenant, cursors.cursor);
  return (
    <Card flush>
      {data === undefined && error !== null && <ErrorState error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows rows={4} label="Loading keys" />}
      {data?.items.length === 0 && (
        <EmptyState
          icon={KeyRound}
          title={`${tenant} has no keys`}
          action={
            <Button icon={Plus} onClick={onNew}>
              New key
            </Button>
          }
        >
          A service uses a key to submit jobs, and a person uses one to sign in.
        </EmptyState>
      )}
      {data !== undefined && data.items.length > 0 && (
        <>
          <KeyTable tenant={tenant} apiKeys={data.items} onMade={onMade} />
          <Pager label="Pages of keys" {...cursors.pager(data.next)} />
        </>
      )}
    </Card>
  );
}

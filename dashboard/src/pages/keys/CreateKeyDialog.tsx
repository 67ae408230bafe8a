import { useId, useState, type FormEvent } from 'react';
import type { MadeKey, NewKey, Scope } from '@/api/documents';
import { useMakeKey } from '@/api/tenants';
import { Button } from '@/components/Button';
import { Dialog } from '@/components/Dialog';
import { ErrorNote } from '@/components/ErrorState';
import { Field, Input, Select } from '@/components/Field';
import { elsewhere, isPlaceless, stillWrong } from '@/pages/submit/mistakes';
import { ScopeFields } from './ScopeFields';
import { DEFAULT_SCOPES } from './scopes';

interface CreateKeyDialogProps {
  tenant: string;
  onMade: (key: MadeKey) => void;
  onClose: () => void;
}

const FIELDS = ['/name', '/scopes', '/expires_in'];

export function CreateKeyDialog({ tenant, onMade, onClose }: CreateKeyDialogProps) {
  const form = useId();
  const make = useMakeKey(tenant);
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<Scope[]>(DEFAULT_SCOPES);
  const [expiry, setExpiry] = useState('2160h');
  const spec: NewKey = {
    scopes,
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(expiry === '' ? {} : { expires_in: expiry }),
  };
  const mistakes = stillWrong(make.error, make.variables, spec);
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (scopes.length === 0 || make.isPending) return;
    make.mutate(spec, {
      onSuccess: (made) => {
        onClose();
        onMade(made);
      },
    });
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="New key"
      description={
        <>
          For the tenant <strong className="font-medium text-ink">{tenant}</strong>
        </>
      }
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            form={form}
            variant="primary"
            busy={make.isPending}
            disabled={scopes.length === 0}
          >
            Create
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={save} noValidate className="space-y-4">
        <div className="grid gap-3 sm:grid-cols-2">
          <Field label="Name" hint="Who or what uses the key." error={mistakes['/name']}>
            <Input
              placeholder="shop backend"
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.target.value)}
              autoComplete="off"
            />
          </Field>
          <Field label="Expires" error={mistakes['/expires_in']}>
            <Select value={expiry} onChange={(event) => setExpiry(event.target.value)}>
              <option value="24h">in a day</option>
              <option value="720h">in 30 days</option>
              <option value="2160h">in 90 days</option>
              <option value="8760h">in a year</option>
              <option value="">never</option>
            </Select>
          </Field>
        </div>
        <ScopeFields chosen={scopes} onChange={setScopes} error={mistakes['/scopes']} />
        {isPlaceless(make.error) && <ErrorNote error={make.error} />}
        {elsewhere(mistakes, FIELDS).map((text) => (
          <p key={text} role="alert" className="text-sm text-bad">
            {text}
          </p>
        ))}
      </form>
    </Dialog>
  );
}

import { useId, useState, type FormEvent } from 'react';
import { useCreateTenant } from '@/api/tenants';
import { Button } from '@/components/Button';
import { Dialog } from '@/components/Dialog';
import { ErrorNote } from '@/components/ErrorState';
import { Field, Input } from '@/components/Field';
import { toast } from '@/components/toasts';
import { isPlaceless, stillWrong } from '@/pages/submit/mistakes';

interface CreateTenantDialogProps {
  onMade: (tenant: string) => void;
  onClose: () => void;
}

export function CreateTenantDialog({ onMade, onClose }: CreateTenantDialogProps) {
  const form = useId();
  const create = useCreateTenant();
  const [id, setId] = useState('');
  const mistakes = stillWrong(create.error, { id: create.variables }, { id: id.trim() });
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (id.trim() === '' || create.isPending) return;
    create.mutate(id.trim(), {
      onSuccess: (tenant) => {
        toast.done(`Tenant ${tenant.id} created`, 'It has no keys yet.');
        onClose();
        onMade(tenant.id);
      },
    });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="New tenant"
      description="A tenant has its own jobs, schedules, webhooks and keys, and cannot see those of other tenants."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            form={form}
            variant="primary"
            busy={create.isPending}
            disabled={id.trim() === ''}
          >
            Create
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={save} noValidate className="space-y-3">
        <Field
          label="Id"
          error={mistakes['/id']}
          hint="Letters a to z, digits and hyphens. It cannot be changed and is never reused."
        >
          <Input
            required
            placeholder="acme"
            maxLength={63}
            value={id}
            onChange={(event) => setId(event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        {isPlaceless(create.error) && <ErrorNote error={create.error} />}
      </form>
    </Dialog>
  );
}

import { useId, useState, type FormEvent } from 'react';
import type { Webhook, WebhookSpec } from '@/api/documents';
import { useCreateWebhook, usePatchWebhook } from '@/api/webhooks';
import { Button } from '@/components/Button';
import { Dialog } from '@/components/Dialog';
import { ErrorNote } from '@/components/ErrorState';
import { Checkbox, Field, Input } from '@/components/Field';
import { toast } from '@/components/toasts';
import { elsewhere, isPlaceless, stillWrong } from '@/pages/submit/mistakes';
import { EVENTS } from './words';

interface FormProps {
  title: string;
  confirm: string;
  start: { url: string; events: string[]; description: string };
  isBusy: boolean;
  error: unknown;
  sent: unknown;
  onSave: (spec: Required<Pick<WebhookSpec, 'url' | 'events'>> & { description: string }) => void;
  onClose: () => void;
}

const FIELDS = ['/url', '/events', '/description'];

function WebhookForm({ title, confirm, start, isBusy, error, sent, onSave, onClose }: FormProps) {
  const form = useId();
  const [url, setUrl] = useState(start.url);
  const [description, setDescription] = useState(start.description);
  const [all, setAll] = useState(start.events.includes('*'));
  const [events, setEvents] = useState(() => widened(start.events));
  const spec = { url: url.trim(), events: all ? ['*'] : events, description: description.trim() };
  const mistakes = stillWrong(error, sent, spec);
  const isWhole = spec.url !== '' && spec.events.length > 0;
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (isWhole && !isBusy) onSave(spec);
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} variant="primary" busy={isBusy} disabled={!isWhole}>
            {confirm}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={save} noValidate className="space-y-4">
        <Field label="URL" error={mistakes['/url']} hint="Gets a signed POST for each event.">
          <Input
            type="url"
            required
            placeholder="https://example.com/hooks/foreman"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
            className="font-mono"
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        <fieldset>
          <legend className="mb-1 text-xs font-medium text-muted">Events</legend>
          <div className="space-y-1.5">
            <Checkbox
              className="flex w-full items-start! [&>input]:mt-0.5 [&>input]:shrink-0"
              label="All events, including those of later versions"
              checked={all}
              onChange={(event) => setAll(event.target.checked)}
            />
            {EVENTS.map(({ name, says }) => (
              <Checkbox
                key={name}
                className="flex w-full items-start! [&>input]:mt-0.5 [&>input]:shrink-0"
                disabled={all}
                checked={all || events.includes(name)}
                onChange={(event) =>
                  setEvents((before) =>
                    event.target.checked ? [...before, name] : before.filter((each) => each !== name),
                  )
                }
                label={
                  <span>
                    {says} <code className="font-mono text-xs text-faint">{name}</code>
                  </span>
                }
              />
            ))}
          </div>
          {mistakes['/events'] !== undefined && (
            <p className="mt-1 text-xs text-bad">{mistakes['/events']}</p>
          )}
        </fieldset>
        <Field label="Description" error={mistakes['/description']}>
          <Input
            placeholder="Order service, production"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        </Field>
        {isPlaceless(error) && <ErrorNote error={error} />}
        {elsewhere(mistakes, FIELDS).map((text) => (
          <p key={text} role="alert" className="text-sm text-bad">
            {text}
          </p>
        ))}
      </form>
    </Dialog>
  );
}

/** `job.*` stands for each of them. */
function widened(events: string[]): string[] {
  if (!events.includes('job.*')) return events.filter((event) => event !== '*');
  const ofJobs = EVENTS.map(({ name }) => name).filter((name) => name.startsWith('job.'));
  return [...new Set([...ofJobs, ...events.filter((event) => event !== 'job.*' && event !== '*')])];
}

interface CreateWebhookProps {
  /** With the secret, which nobody sees again. */
  onMade: (secret: string) => void;
  onClose: () => void;
}

export function CreateWebhookDialog({ onMade, onClose }: CreateWebhookProps) {
  const create = useCreateWebhook();
  return (
    <WebhookForm
      title="New webhook"
      confirm="Create"
      start={{ url: '', events: ['job.failed', 'job.dead'], description: '' }}
      isBusy={create.isPending}
      error={create.error}
      sent={create.variables}
      onSave={({ description, ...spec }) =>
        create.mutate(description === '' ? spec : { ...spec, description }, {
          onSuccess: ({ secret }) => {
            create.reset();
            onClose();
            if (typeof secret === 'string') onMade(secret);
          },
        })
      }
      onClose={onClose}
    />
  );
}

export function EditWebhookDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const patch = usePatchWebhook(webhook.id);
  return (
    <WebhookForm
      title="Edit the webhook"
      confirm="Save"
      start={webhook}
      isBusy={patch.isPending}
      error={patch.error}
      sent={patch.variables}
      onSave={(spec) =>
        patch.mutate(spec, {
          onSuccess: () => {
            toast.done('Webhook saved');
            onClose();
          },
        })
      }
      onClose={onClose}
    />
  );
}

import { CirclePause, CirclePlay, EllipsisVertical, KeyRound, Pencil, Send, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Webhook } from '@/api/documents';
import { useAllows } from '@/api/session';
import { useDeleteWebhook, usePatchWebhook, useRotateWebhookSecret, useTestWebhook } from '@/api/webhooks';
import { Button, IconButton } from '@/components/Button';
import { ConfirmDialog } from '@/components/ConfirmDialog';
import { Field, Select } from '@/components/Field';
import { Menu, MenuItem, MenuSeparator } from '@/components/Menu';
import { toast } from '@/components/toasts';
import { WebhookSecret } from './SecretNote';
import { EditWebhookDialog } from './WebhookDialog';

type Open = 'edit' | 'rotate' | 'disable' | 'delete' | null;

interface WebhookActionsProps {
  webhook: Webhook;
  /** The test as a button beside the menu, where there is room. */
  spread?: boolean;
  onDeleted?: () => void;
}

export function WebhookActions({ webhook, spread = false, onDeleted }: WebhookActionsProps) {
  const [open, setOpen] = useState<Open>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [overlap, setOverlap] = useState('24h');
  const may = useAllows('jobs:write');
  const patch = usePatchWebhook(webhook.id);
  const test = useTestWebhook();
  const rotate = useRotateWebhookSecret();
  const remove = useDeleteWebhook();
  if (!may) return null;
  const close = () => {
    setOpen(null);
    for (const each of [patch, rotate, remove]) each.reset();
  };
  const tryOut = () =>
    test.mutate(webhook.id, {
      onSuccess: () => toast.done('Test message queued', 'See the deliveries for the result.'),
      onError: (error) => toast.failed('Could not send a test message', error),
    });
  const enable = () =>
    patch.mutate(
      { enabled: true },
      {
        onSuccess: () => toast.done('Webhook enabled'),
        onError: (error) => toast.failed('Could not enable the webhook', error),
      },
    );
  return (
    <>
      {spread && (
        <Button icon={Send} busy={test.isPending} disabled={!webhook.enabled} onClick={tryOut}>
          Send a test
        </Button>
      )}
      {spread &&
        (webhook.enabled ? (
          <Button icon={CirclePause} onClick={() => setOpen('disable')}>
            Disable
          </Button>
        ) : (
          <Button icon={CirclePlay} busy={patch.isPending} onClick={enable}>
            Enable
          </Button>
        ))}
      <Menu trigger={<IconButton label={`Actions for ${webhook.url}`} icon={EllipsisVertical} />}>
        {!spread && (
          <MenuItem icon={Send} disabled={!webhook.enabled} onSelect={tryOut}>
            Send a test
          </MenuItem>
        )}
        {!spread && webhook.enabled && (
          <MenuItem icon={CirclePause} onSelect={() => setOpen('disable')}>
            Disable
          </MenuItem>
        )}
        {!spread && !webhook.enabled && (
          <MenuItem icon={CirclePlay} onSelect={enable}>
            Enable
          </MenuItem>
        )}
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Edit
        </MenuItem>
        <MenuItem icon={KeyRound} onSelect={() => setOpen('rotate')}>
          Rotate the secret
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Trash2} danger onSelect={() => setOpen('delete')}>
          Delete
        </MenuItem>
      </Menu>
      {open === 'edit' && <EditWebhookDialog webhook={webhook} onClose={close} />}
      <ConfirmDialog
        open={open === 'disable'}
        onClose={close}
        onConfirm={() =>
          patch.mutate(
            { enabled: false },
            {
              onSuccess: () => {
                toast.done('Webhook disabled');
                close();
              },
            },
          )
        }
        title="Disable this webhook?"
        confirm="Disable"
        busy={patch.isPending}
        error={patch.error}
      >
        <p>It receives no messages until it is enabled again. Events in between are not sent later.</p>
      </ConfirmDialog>
      <ConfirmDialog
        open={open === 'rotate'}
        onClose={close}
        onConfirm={() =>
          rotate.mutate(
            { webhook: webhook.id, overlap },
            {
              onSuccess: (answer) => {
                close();
                if (typeof answer.secret === 'string') setSecret(answer.secret);
              },
            },
          )
        }
        title="Rotate the secret?"
        confirm="Create a new secret"
        busy={rotate.isPending}
        error={rotate.error}
      >
        <p>
          Creates a new secret and shows it once. Messages are signed with both secrets until the old one
          expires, so no message is lost.
        </p>
        <Field label="Keep the old one valid for">
          <Select value={overlap} onChange={(event) => setOverlap(event.target.value)}>
            <option value="1h">an hour</option>
            <option value="24h">a day</option>
            <option value="168h">a week</option>
            <option value="0s">no time: it was leaked</option>
          </Select>
        </Field>
      </ConfirmDialog>
      <ConfirmDialog
        open={open === 'delete'}
        onClose={close}
        onConfirm={() =>
          remove.mutate(webhook.id, {
            onSuccess: () => {
              toast.done('Webhook deleted');
              setOpen(null);
              onDeleted?.();
            },
          })
        }
        title="Delete this webhook?"
        confirm="Delete"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>
          <code className="font-mono break-all">{webhook.url}</code> receives no more messages. Its secret is
          deleted permanently.
        </p>
      </ConfirmDialog>
      {secret !== null && <WebhookSecret secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}

import { ShownOnce } from '@/components/ShownOnce';

export function WebhookSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <ShownOnce title="The webhook's secret" name="secret" secret={secret} onClose={onClose}>
      <p className="text-muted">
        Whoever receives the messages checks with it that they come from here: it signs{' '}
        <code className="font-mono">webhook-id.webhook-timestamp.body</code> with HMAC-SHA256, as Standard
        Webhooks has it.
      </p>
    </ShownOnce>
  );
}

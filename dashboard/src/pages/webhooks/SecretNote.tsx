import { ShownOnce } from '@/components/ShownOnce';

export function WebhookSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <ShownOnce title="The webhook's secret" name="secret" secret={secret} onClose={onClose}>
      <p className="text-muted">
        The receiver uses it to verify that messages come from this server: it signs{' '}
        <code className="font-mono">webhook-id.webhook-timestamp.body</code> with HMAC-SHA256, as defined by
        Standard Webhooks.
      </p>
    </ShownOnce>
  );
}

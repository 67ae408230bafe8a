import type { MadeKey } from '@/api/documents';
import { RelativeTime } from '@/components/RelativeTime';
import { ShownOnce } from '@/components/ShownOnce';

export function MadeKeyNote({ made, onClose }: { made: MadeKey; onClose: () => void }) {
  const replaced = made.replaces;
  return (
    <ShownOnce
      title={replaced === null || replaced === undefined ? 'Key created' : 'Key replaced'}
      name="key"
      secret={made.key}
      onClose={onClose}
    >
      <p className="text-muted">
        Use it in the header <code className="font-mono">Authorization: Bearer …</code>, in the variable{' '}
        <code className="font-mono">FOREMAN_API_KEY</code> for the command line, or on the sign-in page.
      </p>
      {replaced !== null && replaced !== undefined && (
        <p className="text-muted">
          The old key <code className="font-mono">{replaced.id}</code> expires{' '}
          <RelativeTime at={replaced.expires_at} className="font-medium text-ink" />.
        </p>
      )}
    </ShownOnce>
  );
}

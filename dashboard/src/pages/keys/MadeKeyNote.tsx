import type { MadeKey } from '@/api/documents';
import { RelativeTime } from '@/components/RelativeTime';
import { ShownOnce } from '@/components/ShownOnce';

export function MadeKeyNote({ made, onClose }: { made: MadeKey; onClose: () => void }) {
  const replaced = made.replaces;
  return (
    <ShownOnce
      title={replaced === null || replaced === undefined ? 'The key is made' : 'The key is replaced'}
      name="key"
      secret={made.key}
      onClose={onClose}
    >
      <p className="text-muted">
        It goes into <code className="font-mono">Authorization: Bearer …</code>, into the variable{' '}
        <code className="font-mono">FOREMAN_API_KEY</code> that the command line reads, or into the sign-in
        page.
      </p>
      {replaced !== null && replaced !== undefined && (
        <p className="text-muted">
          The old key <code className="font-mono">{replaced.id}</code> ends{' '}
          <RelativeTime at={replaced.expires_at} className="font-medium text-ink" />.
        </p>
      )}
    </ShownOnce>
  );
}

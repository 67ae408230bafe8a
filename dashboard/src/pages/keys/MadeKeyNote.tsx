import type { MadeKey } from '@/api/documents';
import { Code } from '@/components/Code';
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
        It goes into <code className="font-mono">Authorization: Bearer …</code>, or into the variable that the
        command line and the clients read:
      </p>
      <Code label="How to hand it to the command line" text="export FOREMAN_API_KEY='…'" />
      {replaced !== null && replaced !== undefined && (
        <p className="text-muted">
          The old key <code className="font-mono">{replaced.id}</code> ends{' '}
          <RelativeTime at={replaced.expires_at} className="font-medium text-ink" />.
        </p>
      )}
    </ShownOnce>
  );
}

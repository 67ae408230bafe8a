import { Terminal } from 'lucide-react';
import { useWhoami } from '@/api/session';
import { chosenTenant } from '@/api/tenant';
import { Card } from '@/components/Card';
import { Code } from '@/components/Code';
import type { JobDraft } from './draft';
import { beyondCli, cliLine, curlLine } from './shell';
import { isAimed, writtenOf } from './spec';

/** As long as nothing says what the job does. */
const EXAMPLE: Partial<JobDraft> = {
  url: 'https://example.com/hooks/order',
  task: 'send-welcome',
  command: 'echo hello',
};

/** The same for a terminal, as it is typed. */
export function Equivalent({ draft }: { draft: JobDraft }) {
  const written = writtenOf(isAimed(writtenOf(draft)) ? draft : { ...draft, ...EXAMPLE });
  const who = useWhoami().data;
  const server = {
    origin: location.origin,
    needsKey: who?.key !== null && who?.key !== undefined,
    tenant: chosenTenant(),
  };
  const beyond = beyondCli(written.spec);
  return (
    <Card
      title={
        <span className="inline-flex items-center gap-2">
          <Terminal aria-hidden className="size-4 text-muted" />
          The same from a terminal
        </span>
      }
    >
      <div className="space-y-3">
        <Code label="The HTTP request, for a shell" text={curlLine(written, server)} />
        <Code label="The command line of Foreman" text={cliLine(written, server)} />
        {beyond.length > 0 && (
          <p className="text-xs text-faint">
            The command line has no word for <code className="font-mono">{beyond.join(', ')}</code>.
          </p>
        )}
        {server.needsKey && (
          <p className="text-xs text-faint">
            Both take the key from <code className="font-mono">FOREMAN_API_KEY</code>.
          </p>
        )}
      </div>
    </Card>
  );
}

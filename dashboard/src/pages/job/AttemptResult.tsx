import { clsx } from 'clsx';
import { ChevronRight } from 'lucide-react';
import type { Attempt } from '@/api/documents';
import { Code } from '@/components/Code';
import { laidOut } from '@/components/JsonView';

type Response = NonNullable<Attempt['response']>;
type Output = NonNullable<Attempt['output']>;

/** What a try brought back: the answer of a request, or what a command printed. */
export function AttemptResult({ attempt, isOpen }: { attempt: Attempt; isOpen: boolean }) {
  const { response, output, error } = attempt;
  return (
    <div className="mt-1 space-y-2">
      {typeof error === 'string' && error !== '' && (
        <p className="text-sm break-words whitespace-pre-wrap text-bad">{error}</p>
      )}
      {response !== null && response !== undefined && <ResponseView response={response} isOpen={isOpen} />}
      {output !== null && output !== undefined && <OutputView output={output} isOpen={isOpen} />}
    </div>
  );
}

const SUMMARY = 'inline-flex items-center gap-2 text-xs text-muted hover:text-ink';

function ResponseView({ response, isOpen }: { response: Response; isOpen: boolean }) {
  const isGood = response.status >= 200 && response.status < 300;
  const headers = response.headers ?? [];
  return (
    <details open={isOpen} className="group">
      <summary className={SUMMARY}>
        <span
          className={clsx(
            'tabular rounded px-1.5 font-mono font-medium',
            isGood ? 'bg-good-soft text-good' : 'bg-bad-soft text-bad',
          )}
        >
          {response.status}
        </span>
        Response
        <Chevron />
      </summary>
      <div className="mt-2 space-y-2">
        {headers.length > 0 && (
          <Code
            label="Response headers"
            text={headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
            wrap
          />
        )}
        {response.body !== undefined && response.body !== '' && (
          <Code label="Response body" text={laidOut(response.body)} wrap />
        )}
        {response.truncated === true && <Cut />}
      </div>
    </details>
  );
}

function OutputView({ output, isOpen }: { output: Output; isOpen: boolean }) {
  const stdout = output.stdout ?? '';
  const stderr = output.stderr ?? '';
  return (
    <details open={isOpen} className="group">
      <summary className={SUMMARY}>
        <span
          className={clsx(
            'tabular rounded px-1.5 font-mono font-medium',
            output.exit_code === 0 ? 'bg-good-soft text-good' : 'bg-bad-soft text-bad',
          )}
        >
          {ending(output)}
        </span>
        Output
        <Chevron />
      </summary>
      <div className="mt-2 space-y-2">
        {stdout !== '' && <Code label="Standard output" text={stdout} wrap />}
        {output.stdout_truncated === true && <Cut />}
        {stderr !== '' && (
          <>
            <p className="text-xs text-muted">Standard error</p>
            <Code label="Standard error" text={stderr} wrap />
          </>
        )}
        {output.stderr_truncated === true && <Cut />}
        {stdout === '' && stderr === '' && <p className="text-xs text-faint">It printed nothing.</p>}
      </div>
    </details>
  );
}

function ending({ exit_code, signal }: Output): string {
  if (typeof exit_code === 'number') return `exit ${exit_code}`;
  return typeof signal === 'number' ? `signal ${signal}` : 'ended';
}

function Cut() {
  return <p className="text-xs text-faint">There was more; only the beginning is kept.</p>;
}

function Chevron() {
  return <ChevronRight aria-hidden className="size-3.5 transition-transform group-open:rotate-90" />;
}

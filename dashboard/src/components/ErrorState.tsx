import { CircleAlert, RotateCw } from 'lucide-react';
import { explain } from '@/api/problem';
import { Button } from './Button';
import { CopyButton } from './CopyButton';

interface ErrorStateProps {
  error: unknown;
  retry?: (() => void) | undefined;
}

/** Why there is nothing to see, in the server's words, with the id that finds it in the logs. */
export function ErrorState({ error, retry }: ErrorStateProps) {
  const { title, detail, requestId } = explain(error);
  return (
    <div role="alert" className="flex flex-col items-center px-6 py-10 text-center">
      <div className="mb-3 flex size-10 items-center justify-center rounded-full bg-bad-soft text-bad">
        <CircleAlert aria-hidden className="size-5" />
      </div>
      <p className="font-semibold">{title}</p>
      <p className="mt-1 max-w-prose text-sm break-words text-muted">{detail}</p>
      {requestId !== null && (
        <p className="mt-2 flex items-center gap-1 text-xs text-faint">
          Request <code className="font-mono">{requestId}</code>
          <CopyButton text={requestId} label="Copy the request id" />
        </p>
      )}
      {retry !== undefined && (
        <Button className="mt-4" icon={RotateCw} onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** The same in one line, inside a form or a dialog. */
export function ErrorNote({ error }: { error: unknown }) {
  const { detail, requestId } = explain(error);
  return (
    <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm break-words text-bad">
      {detail}
      {requestId !== null && <span className="block font-mono text-xs opacity-80">Request {requestId}</span>}
    </p>
  );
}

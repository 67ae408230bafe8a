import { TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { Button } from './Button';
import { CopyButton } from './CopyButton';
import { Dialog } from './Dialog';
import { Checkbox } from './Field';

interface ShownOnceProps {
  title: string;
  /** What it is called: "key", "secret". */
  name: string;
  secret: string;
  /** Where it goes. */
  children?: React.ReactNode;
  onClose: () => void;
}

/**
 * A secret, in the one moment in which it is shown. It is held by the dialog alone: neither in the cache nor in any
 * storage of the browser, and gone with the dialog.
 */
export function ShownOnce({ title, name, secret, children, onClose }: ShownOnceProps) {
  const [isKept, setIsKept] = useState(false);
  const [wasAsked, setWasAsked] = useState(false);
  return (
    <Dialog
      open
      wide
      // A slip of the mouse must not lose it.
      onClose={() => {
        if (isKept) onClose();
        else setWasAsked(true);
      }}
      title={title}
      footer={
        <Button variant="primary" disabled={!isKept} onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="space-y-3 text-sm">
        <p className="flex items-start gap-2 rounded-md bg-warn-soft px-3 py-2 text-warn">
          <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
          <span>
            <strong className="font-semibold">Copy it now.</strong> This is the only time the {name} is shown.
            It cannot be looked up later.
          </span>
        </p>
        <div className="flex items-center gap-2 rounded-md border bg-sunken p-2">
          <code aria-label={`The ${name}`} className="min-w-0 flex-1 font-mono text-xs break-all select-all">
            {secret}
          </code>
          <CopyButton text={secret} label={`Copy the ${name}`} />
        </div>
        {children}
        {wasAsked && !isKept && (
          <p role="alert" className="text-bad">
            It cannot be shown again after you close this. Confirm below that you saved it.
          </p>
        )}
        <Checkbox
          label={`I have saved the ${name}`}
          checked={isKept}
          onChange={(event) => setIsKept(event.target.checked)}
        />
      </div>
    </Dialog>
  );
}

import type { ReactNode } from 'react';
import { Button } from './Button';
import { Dialog } from './Dialog';
import { ErrorNote } from './ErrorState';

interface ConfirmDialogProps {
  open: boolean;
  onClose: () => void;
  onConfirm: () => void;
  title: string;
  /** The button's words: the verb, never "OK". */
  confirm: string;
  /** The other button's words, where "Cancel" could be taken for the verb. */
  dismiss?: string;
  danger?: boolean;
  busy?: boolean;
  disabled?: boolean;
  error?: unknown;
  children?: ReactNode;
}

export function ConfirmDialog({
  open,
  onClose,
  onConfirm,
  title,
  confirm,
  dismiss = 'Cancel',
  danger = false,
  busy = false,
  disabled = false,
  error,
  children,
}: ConfirmDialogProps) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>{dismiss}</Button>
          <Button variant={danger ? 'danger' : 'primary'} busy={busy} disabled={disabled} onClick={onConfirm}>
            {confirm}
          </Button>
        </>
      }
    >
      <div className="space-y-3 text-sm text-muted">
        {children}
        {error !== undefined && error !== null && <ErrorNote error={error} />}
      </div>
    </Dialog>
  );
}

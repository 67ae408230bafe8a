import { clsx } from 'clsx';
import { X } from 'lucide-react';
import { useEffect, useId, useRef, type ReactNode } from 'react';
import { IconButton } from './Button';

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  description?: ReactNode;
  /** The row of buttons at its foot. */
  footer?: ReactNode;
  wide?: boolean;
  /** For a form with something beside it. */
  size?: 'large';
  children?: ReactNode;
}

/** The browser's own modal: it holds the focus, closes on Escape and gives the focus back, without a style of its own. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  footer,
  wide = false,
  size,
  children,
}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog === null || !open) return undefined;
    const opener = document.activeElement;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, [open]);
  if (!open) return null;
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- Escape does the same
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
      className={clsx(
        'm-auto max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] animate-enter overflow-hidden rounded-xl border bg-surface p-0 shadow-high',
        size === 'large' ? 'max-w-5xl' : wide ? 'max-w-2xl' : 'max-w-md',
      )}
    >
      <div className="flex max-h-[calc(100dvh-2rem)] flex-col">
        <header className="flex items-start gap-2 px-5 pt-4">
          <div className="min-w-0 flex-1">
            <h2 id={id} className="text-lg font-semibold">
              {title}
            </h2>
            {description !== undefined && <div className="mt-0.5 text-sm text-muted">{description}</div>}
          </div>
          <IconButton label="Close" icon={X} onClick={onClose} className="-mr-2" />
        </header>
        <div className="min-h-0 flex-1 overflow-y-auto px-5 py-3">{children}</div>
        {footer !== undefined && (
          <footer className="flex flex-wrap justify-end gap-2 border-t bg-bg px-5 py-3">{footer}</footer>
        )}
      </div>
    </dialog>
  );
}

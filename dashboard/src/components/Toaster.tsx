import { clsx } from 'clsx';
import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { IconButton } from './Button';
import { dismiss, useToasts } from './toasts';

export function Toaster() {
  const toasts = useToasts();
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-20 z-50 flex flex-col items-end gap-2 md:inset-x-auto md:right-4 md:bottom-4"
    >
      {toasts.map((toast) => {
        const Icon = toast.tone === 'good' ? CircleCheck : CircleAlert;
        return (
          <div
            key={toast.id}
            className="pointer-events-auto flex w-full animate-enter items-start gap-2 rounded-lg border bg-surface p-3 shadow-high md:w-96"
          >
            <Icon
              aria-hidden
              className={clsx('mt-0.5 size-4 shrink-0', toast.tone === 'good' ? 'text-good' : 'text-bad')}
            />
            <div className="min-w-0 flex-1 text-sm">
              <p className="font-medium">{toast.title}</p>
              {toast.detail !== undefined && <p className="break-words text-muted">{toast.detail}</p>}
              {toast.action !== undefined && (
                <button
                  type="button"
                  className="mt-1 font-medium text-accent hover:underline"
                  onClick={() => {
                    dismiss(toast.id);
                    toast.action?.run();
                  }}
                >
                  {toast.action.label}
                </button>
              )}
              {typeof toast.requestId === 'string' && (
                <p className="mt-1 font-mono text-xs break-all text-faint">Request {toast.requestId}</p>
              )}
            </div>
            <IconButton
              label="Dismiss"
              icon={X}
              className="-mt-1 -mr-1 size-7"
              onClick={() => dismiss(toast.id)}
            />
          </div>
        );
      })}
    </div>
  );
}

import { clsx } from 'clsx';

interface SlotsBarProps {
  running: number;
  slots: number;
}

/** How much of a worker is taken. */
export function SlotsBar({ running, slots }: SlotsBarProps) {
  const share = slots === 0 ? 0 : Math.min(1, running / slots);
  return (
    <div className="flex items-center gap-2">
      <div
        role="meter"
        aria-label="Slots in use"
        aria-valuemin={0}
        aria-valuemax={slots}
        aria-valuenow={Math.min(running, slots)}
        aria-valuetext={`${running} of ${slots} slots in use`}
        className="h-1.5 w-20 shrink-0 overflow-hidden rounded-full bg-grey-soft"
      >
        <div
          style={{ width: `${share * 100}%` }}
          className={clsx('h-full rounded-full transition-[width]', share >= 1 ? 'bg-warn' : 'bg-accent')}
        />
      </div>
      <span className="tabular text-xs whitespace-nowrap text-muted">
        {running} / {slots}
      </span>
    </div>
  );
}

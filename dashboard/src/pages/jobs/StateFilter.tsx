import { clsx } from 'clsx';
import { STATES, type Overview, type State } from '@/api/documents';
import { TEXT_TONES } from '@/components/Badge';
import { Count } from '@/components/Count';
import { STATE_LOOKS } from '@/components/StateBadge';

interface StateFilterProps {
  chosen: State | undefined;
  states: Overview['states'] | undefined;
  onChoose: (state: State | undefined) => void;
}

export function StateFilter({ chosen, states, onChoose }: StateFilterProps) {
  const look =
    'inline-flex h-8 shrink-0 items-center gap-1.5 rounded-md border px-2.5 text-sm transition-colors whitespace-nowrap';
  const pressed = 'border-accent bg-accent-soft text-accent font-medium';
  const released = 'border-line bg-surface text-muted hover:bg-hover hover:text-ink';
  return (
    <div role="group" aria-label="State" className="flex flex-wrap gap-1.5">
      <button
        type="button"
        aria-pressed={chosen === undefined}
        onClick={() => onChoose(undefined)}
        className={clsx(look, chosen === undefined ? pressed : released)}
      >
        All states
      </button>
      {STATES.map((state) => {
        const { icon: Icon, tone, meaning } = STATE_LOOKS[state];
        const counted = states?.[state];
        return (
          <button
            key={state}
            type="button"
            title={meaning}
            aria-pressed={chosen === state}
            onClick={() => onChoose(chosen === state ? undefined : state)}
            className={clsx(look, chosen === state ? pressed : released)}
          >
            <Icon aria-hidden className={clsx('size-3.5', TEXT_TONES[tone])} />
            {state}
            {counted !== undefined && counted.count > 0 && (
              <span className="text-xs text-faint">
                <Count {...counted} />
              </span>
            )}
          </button>
        );
      })}
    </div>
  );
}

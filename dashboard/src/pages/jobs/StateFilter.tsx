import { clsx } from 'clsx';
import { useEffect, useRef } from 'react';
import { STATES, type Overview, type State } from '@/api/documents';
import { TEXT_TONES } from '@/components/Badge';
import { Count } from '@/components/Count';
import { STATE_LOOKS } from '@/components/StateBadge';

interface StateFilterProps {
  chosen: State | undefined;
  states: Overview['states'] | undefined;
  onChoose: (state: State | undefined) => void;
}

/** On a phone a single row that scrolls sideways, to the edges of the screen: what is cut off says that there is more. */
export function StateFilter({ chosen, states, onChoose }: StateFilterProps) {
  const look =
    'inline-flex h-8 shrink-0 items-center gap-1.5 rounded-md border px-2.5 text-sm transition-colors whitespace-nowrap';
  const pressed = 'border-accent bg-accent-soft text-accent font-medium';
  const released = 'border-line bg-surface text-muted hover:bg-hover hover:text-ink';
  const row = useRef<HTMLDivElement>(null);
  const isCounted = states !== undefined;
  useEffect(() => {
    // The counts widen the chips: before they are there, nothing stands where it will.
    if (!isCounted) return;
    const chip = row.current?.children[chosen === undefined ? 0 : STATES.indexOf(chosen) + 1];
    if (row.current === null || !(chip instanceof HTMLElement)) return;
    row.current.scrollLeft = chip.offsetLeft - (row.current.clientWidth - chip.offsetWidth) / 2;
  }, [chosen, isCounted]);
  return (
    <div
      ref={row}
      role="group"
      aria-label="State"
      className="relative flex gap-1.5 max-md:-mx-4 max-md:py-1 max-md:scroll-px-4 max-md:[scrollbar-width:none] max-md:overflow-x-auto max-md:px-4 md:flex-wrap"
    >
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

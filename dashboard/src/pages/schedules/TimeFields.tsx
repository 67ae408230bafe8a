import { Field, Input, Select } from '@/components/Field';
import { Segmented } from '@/components/Segmented';
import type { Mistakes } from '@/pages/submit/spec';
import type { Mode, ScheduleDraft } from './scheduleDraft';
import { DST_GAP, DST_OVERLAP, MISSED, OVERLAP, type Choice } from './words';

interface TimeFieldsProps {
  draft: ScheduleDraft;
  onChange: (part: Partial<ScheduleDraft>) => void;
  mistakes: Mistakes;
}

const MODES: { value: Mode; label: string }[] = [
  { value: 'cron', label: 'By calendar' },
  { value: 'every', label: 'At intervals' },
  { value: 'at', label: 'Once' },
];

const EXAMPLES: [cron: string, said: string][] = [
  ['*/5 * * * *', 'every 5 minutes'],
  ['0 9 * * MON-FRI', 'weekdays at 9'],
  ['@daily', 'at midnight'],
];

/** When it fires. */
export function TimeFields({ draft, onChange, mistakes }: TimeFieldsProps) {
  return (
    <div className="space-y-3">
      <Segmented
        label="When it fires"
        value={draft.mode}
        options={MODES}
        onChange={(mode) => onChange({ mode })}
      />
      {draft.mode === 'cron' && (
        <div className="grid gap-3 sm:grid-cols-2">
          <div>
            <Field label="Cron" error={mistakes['/cron']} hint="Minute, hour, day, month, weekday.">
              <Input
                required
                placeholder="0 9 * * MON-FRI"
                value={draft.cron}
                onChange={(event) => onChange({ cron: event.target.value })}
                className="font-mono"
                autoComplete="off"
                spellCheck={false}
              />
            </Field>
            <p className="mt-1 flex flex-wrap gap-1">
              {EXAMPLES.map(([cron, said]) => (
                <button
                  key={cron}
                  type="button"
                  title={cron}
                  onClick={() => onChange({ cron })}
                  className="rounded-full border px-2 text-xs text-muted hover:bg-hover hover:text-ink"
                >
                  {said}
                </button>
              ))}
            </p>
          </div>
          <ZoneField draft={draft} onChange={onChange} mistakes={mistakes} />
        </div>
      )}
      {draft.mode === 'every' && (
        <Field
          label="Interval"
          error={mistakes['/every']}
          hint="The time between fires, such as 90s, 15m or 6h."
        >
          <Input
            required
            placeholder="15m"
            value={draft.every}
            onChange={(event) => onChange({ every: event.target.value })}
            autoComplete="off"
          />
        </Field>
      )}
      {draft.mode === 'at' && (
        <LocalTime
          label="At"
          pointer="/at"
          value={draft.at}
          onChange={(at) => onChange({ at })}
          mistakes={mistakes}
        />
      )}
    </div>
  );
}

function ZoneField({ draft, onChange, mistakes }: TimeFieldsProps) {
  return (
    <Field label="Time zone" error={mistakes['/timezone']} hint="Times are in this zone.">
      <Input
        placeholder="UTC"
        list="time-zones"
        value={draft.timezone}
        onChange={(event) => onChange({ timezone: event.target.value })}
        autoComplete="off"
        spellCheck={false}
      />
      {ZONE_LIST}
    </Field>
  );
}

const ZONES: string[] =
  typeof Intl.supportedValuesOf === 'function' ? Intl.supportedValuesOf('timeZone') : [];

/** Made once: there are hundreds, and none depends on what is typed. */
const ZONE_LIST = (
  <datalist id="time-zones">
    {ZONES.map((zone) => (
      <option key={zone}>{zone}</option>
    ))}
  </datalist>
);

interface LocalTimeProps {
  label: string;
  pointer: string;
  value: string;
  onChange: (value: string) => void;
  mistakes: Mistakes;
}

function LocalTime({ label, pointer, value, onChange, mistakes }: LocalTimeProps) {
  return (
    <Field label={label} error={mistakes[pointer]} hint="In your local time.">
      <Input
        type="datetime-local"
        step={1}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

/** What happens when things do not go as planned. */
export function PolicyFields({ draft, onChange, mistakes }: TimeFieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <ChoiceField
        label="If the previous job is still running"
        value={draft.overlap}
        usual="allow"
        choices={OVERLAP}
        error={mistakes['/overlap']}
        onChange={(overlap) => onChange({ overlap })}
      />
      <ChoiceField
        label="If fires were missed"
        value={draft.missed}
        usual="latest"
        choices={MISSED}
        error={mistakes['/missed']}
        onChange={(missed) => onChange({ missed })}
      />
      {draft.missed === 'all' && (
        <Field label="Most missed fires to run" error={mistakes['/missed_max']}>
          <Input
            inputMode="numeric"
            placeholder="100"
            value={draft.missedMax}
            onChange={(event) => onChange({ missedMax: event.target.value })}
          />
        </Field>
      )}
      {draft.mode === 'cron' && (
        <>
          <ChoiceField
            label="A time that does not exist (clocks forward)"
            value={draft.dstGap}
            usual="next_valid"
            choices={DST_GAP}
            error={mistakes['/dst_gap']}
            onChange={(dstGap) => onChange({ dstGap })}
          />
          <ChoiceField
            label="A time that occurs twice (clocks back)"
            value={draft.dstOverlap}
            usual="first"
            choices={DST_OVERLAP}
            error={mistakes['/dst_overlap']}
            onChange={(dstOverlap) => onChange({ dstOverlap })}
          />
        </>
      )}
      <Field
        label="Spread starts over"
        error={mistakes['/jitter']}
        hint="Each job starts up to this much later, such as 30s."
      >
        <Input
          placeholder="none"
          value={draft.jitter}
          onChange={(event) => onChange({ jitter: event.target.value })}
        />
      </Field>
      <LocalTime
        label="Not before"
        pointer="/start_at"
        value={draft.startAt}
        onChange={(startAt) => onChange({ startAt })}
        mistakes={mistakes}
      />
      <LocalTime
        label="Not after"
        pointer="/end_at"
        value={draft.endAt}
        onChange={(endAt) => onChange({ endAt })}
        mistakes={mistakes}
      />
    </div>
  );
}

interface ChoiceFieldProps<T extends string> {
  label: string;
  value: T | '';
  usual: T;
  choices: Record<T, Choice>;
  error: string | undefined;
  onChange: (value: T | '') => void;
}

function ChoiceField<T extends string>({
  label,
  value,
  usual,
  choices,
  error,
  onChange,
}: ChoiceFieldProps<T>) {
  const others = (Object.keys(choices) as T[]).filter((choice) => choice !== usual);
  return (
    <Field label={label} error={error}>
      <Select
        value={value === usual ? '' : value}
        onChange={(event) => onChange(event.target.value as T | '')}
      >
        <option value="">{choices[usual].short}</option>
        {others.map((choice) => (
          <option key={choice} value={choice}>
            {choices[choice].short}
          </option>
        ))}
      </Select>
    </Field>
  );
}

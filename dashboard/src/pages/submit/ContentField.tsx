import { WandSparkles } from 'lucide-react';
import { Button } from '@/components/Button';
import { Field, Textarea } from '@/components/Field';
import { Segmented } from '@/components/Segmented';
import type { Content } from './draft';
import type { DraftProps } from './TargetFields';

interface ContentFieldProps extends DraftProps {
  label: string;
  /** Where there is a choice. */
  kinds?: { value: Content; label: string }[];
}

/** What goes along with the job. JSON is checked while it is written. */
export function ContentField({ label, draft, onChange, mistakes, kinds }: ContentFieldProps) {
  const isJson = draft.content === 'json' || kinds === undefined;
  const pointer = isJson ? '/payload' : '/body';
  const mistake = mistakes[pointer];
  return (
    <div className="relative">
      <div className="absolute -top-1.5 right-0 z-10 flex items-center gap-2">
        {isJson && mistake === undefined && laidOut(draft.payload) !== draft.payload && (
          <Button
            size="sm"
            variant="ghost"
            icon={WandSparkles}
            onClick={() => onChange({ payload: laidOut(draft.payload) })}
          >
            Format
          </Button>
        )}
        {kinds !== undefined && (
          <Segmented
            label="Kind of content"
            value={draft.content}
            options={kinds}
            onChange={(content) => onChange({ content })}
          />
        )}
      </div>
      <Field label={label} error={mistake} className={kinds === undefined ? '' : 'pt-2.5'}>
        <Textarea
          rows={6}
          placeholder={isJson ? '{ "order": 42 }' : 'Any text'}
          value={isJson ? draft.payload : draft.body}
          onChange={(event) =>
            onChange(isJson ? { payload: event.target.value } : { body: event.target.value })
          }
          className="mt-1 resize-y font-mono text-xs"
          spellCheck={false}
        />
      </Field>
    </div>
  );
}

/** Only where that changes no number: what is beyond a double stays as it was typed. */
function laidOut(typed: string): string {
  if (typed.trim() === '') return typed;
  const value = JSON.parse(typed) as unknown;
  const same = JSON.stringify(value) === typed.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
  return same ? JSON.stringify(value, null, 2) : typed;
}

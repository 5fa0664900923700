import { useState } from 'preact/hooks'
import { view } from '../api.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Button, ChoiceButtons, Problem, TextField, useAction } from '../ui/parts.tsx'
import { type Replayed, replayNote } from './replay-note.ts'

type By = 'time' | 'event number'

interface ReplayRange {
  after_seq?: number
  since?: string
  up_to_seq?: number
  until?: string
}

const HOUR_MS = 3_600_000
const inputTime = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 16)
/** A time input omits seconds that are 0. Undefined without a time, also where the year has five digits. */
function wireTime(text: string): string | undefined {
  const time = Date.parse(`${text}Z`)
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/** Sends past events as new deliveries: a range of times or of sequence numbers, with or without an end. */
export function ReplayForm(props: { webhookId: string; onDone: (note: string) => void }) {
  const { environment } = useSession()
  const [by, setBy] = useState<By>('time')
  const [times, setTimes] = useState({ from: inputTime(Date.now() - HOUR_MS), to: '' })
  const [numbers, setNumbers] = useState({ from: '', to: '' })
  /** The part of the range that one call did not cover. */
  const [rest, setRest] = useState<ReplayRange>()
  const path = `/v1/webhooks/${props.webhookId}/replay`
  const range = by === 'time' ? rangeOfTimes(times) : rangeOfNumbers(numbers)

  const replay = async (asked: ReplayRange) => {
    const { value } = await view<Replayed>(environment, path, { method: 'POST', body: asked })
    const { after_seq: _from, since: _since, ...end } = asked
    setRest(value.next_after_seq === null ? undefined : { after_seq: value.next_after_seq, ...end })
    props.onDone(replayNote(value))
  }
  const first = useAction(() => replay(range))
  const more = useAction(async () => rest && replay(rest))
  const change = (set: typeof setTimes, name: 'from' | 'to') => (value: string) => {
    setRest(undefined)
    set((before) => ({ ...before, [name]: value }))
  }
  return (
    <form class="replay" onSubmit={first.run}>
      <p class="muted">
        Delivers the events of a range again, up to 10,000 at a time; each costs a credit when it is
        delivered. One event alone: “Send again” in the log.
      </p>
      <ChoiceButtons
        label="Replay by"
        value={by}
        options={['time', 'event number'] as const}
        onChange={setBy}
      />
      {by === 'time' ? (
        <div class="pair">
          <TextField
            label="From (UTC)"
            type="datetime-local"
            step="1"
            required
            value={times.from}
            onText={change(setTimes, 'from')}
          />
          <TextField
            label="Until (UTC)"
            hint="Empty: up to now."
            type="datetime-local"
            step="1"
            value={times.to}
            onText={change(setTimes, 'to')}
          />
        </div>
      ) : (
        <div class="pair">
          <TextField
            label="First event"
            hint="The number after # in the log."
            type="number"
            min="1"
            required
            value={numbers.from}
            onText={change(setNumbers, 'from')}
          />
          <TextField
            label="Last event"
            hint="Empty: up to the newest."
            type="number"
            min={numbers.from || '1'}
            value={numbers.to}
            onText={change(setNumbers, 'to')}
          />
        </div>
      )}
      <Problem text={first.problem ?? more.problem} />
      <div class="row">
        <Button type="submit" look="primary" disabled={first.busy}>
          Replay
        </Button>
        {rest !== undefined && (
          <Button disabled={more.busy} onClick={more.run}>
            Replay the rest, from #{(rest.after_seq ?? 0) + 1}
          </Button>
        )}
      </div>
      <ApiCall method="POST" path={path} body={range} price={0} />
    </form>
  )
}

function rangeOfTimes({ from, to }: { from: string; to: string }): ReplayRange {
  const since = wireTime(from)
  const until = wireTime(to)
  return { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) }
}

function rangeOfNumbers({ from, to }: { from: string; to: string }): ReplayRange {
  return { after_seq: Math.max(0, Number(from) - 1), ...(to === '' ? {} : { up_to_seq: Number(to) }) }
}

import { useState } from 'preact/hooks'
import type { CreatedKeyView, KeyView } from '../../wire.ts'
import { call } from '../api.ts'
import { Button, Field, Problem, useAction } from '../ui/parts.tsx'

export function RotateForm(props: { record: KeyView; onCreated: (created: CreatedKeyView) => void }) {
  const [hours, setHours] = useState('24')
  const { run, busy, problem } = useAction(async () => {
    const body = { overlap_hours: Number(hours) }
    props.onCreated(await call<CreatedKeyView>('POST', `keys/${props.record.id}/rotate`, body))
  })
  return (
    <form onSubmit={run}>
      <p>You get a new key with the same settings. The old one goes on working for the overlap.</p>
      <Field label="Overlap">
        <select value={hours} onChange={(event) => setHours(event.currentTarget.value)}>
          <option value="0">none: the old key ends at once</option>
          <option value="1">1 hour</option>
          <option value="24">24 hours</option>
          <option value="168">7 days</option>
        </select>
      </Field>
      <Problem text={problem} />
      <footer>
        <Button type="submit" look="primary" disabled={busy}>
          Rotate key
        </Button>
      </footer>
    </form>
  )
}

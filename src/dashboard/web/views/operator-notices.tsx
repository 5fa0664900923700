import { useState } from 'preact/hooks'
import type { NoticeView } from '../../wire.ts'
import { call } from '../api.ts'
import { dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Badge, Button, Card, ChoiceButtons, Field, Problem, TextField, useAction } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'

/**
 * Incidents and maintenance. Customers see the current ones in the dashboard, and everybody sees all of them at
 * /status.
 */
export function NoticesCard({ onChange }: { onChange: () => void }) {
  const { value, error, reload } = useLoad(
    () => call<{ notices: NoticeView[] }>('GET', 'operator/notices'),
    [],
  )
  const [edited, setEdited] = useState<NoticeView | 'new'>()
  const [deleted, setDeleted] = useState<NoticeView>()
  const changed = () => {
    reload()
    onChange()
  }
  const columns: Column<NoticeView>[] = [
    {
      title: 'What',
      class: 'break',
      cell: ({ kind, title }) => (
        <>
          <Badge tone={kind === 'incident' ? 'bad' : 'warn'}>{kind}</Badge> {title}
        </>
      ),
    },
    { title: 'From (UTC)', label: 'From', class: 'nowrap', cell: (notice) => dateTime(notice.starts_at) },
    {
      title: 'To (UTC)',
      label: 'To',
      class: 'nowrap',
      cell: (notice) => (notice.ends_at === null ? 'not known' : dateTime(notice.ends_at)),
    },
    {
      cell: (notice) => (
        <>
          <Button look="small" onClick={() => setEdited(notice)}>
            Edit
          </Button>
          <Button look="small" onClick={() => setDeleted(notice)}>
            Delete
          </Button>
        </>
      ),
    },
  ]
  return (
    <Card
      title="Incidents and maintenance"
      class="flush"
      aside={
        <Button look="small" onClick={() => setEdited('new')}>
          New notice
        </Button>
      }
    >
      <Problem text={error} />
      {value && (
        <Table
          columns={columns}
          rows={value.notices}
          idOf={({ id }) => id}
          none="None in the last 90 days."
          testId="notices"
        />
      )}
      {edited && (
        <NoticeForm
          {...(edited === 'new' ? {} : { notice: edited })}
          onDone={changed}
          onClose={() => setEdited(undefined)}
        />
      )}
      {deleted && (
        <Confirm
          title={`Delete “${deleted.title}”?`}
          text="It disappears from the dashboard and from the status page. To end it, set its end instead."
          action="Delete notice"
          onYes={async () => {
            await call('DELETE', `operator/notices/${deleted.id}`)
            changed()
          }}
          onClose={() => setDeleted(undefined)}
        />
      )}
    </Card>
  )
}

const KINDS = ['incident', 'maintenance'] as const
/** The format of a date and time input, in UTC. */
const fieldTime = (text: string) => text.slice(0, 16)
const toTime = (text: string) => `${text.slice(0, 16)}:00Z`

function NoticeForm(props: { notice?: NoticeView; onDone: () => void; onClose: () => void }) {
  const { notice } = props
  const [kind, setKind] = useState<NoticeView['kind']>(notice?.kind ?? 'incident')
  const [title, setTitle] = useState(notice?.title ?? '')
  const [text, setText] = useState(notice?.text ?? '')
  const [from, setFrom] = useState(fieldTime(notice?.starts_at ?? new Date().toISOString()))
  const [to, setTo] = useState(fieldTime(notice?.ends_at ?? ''))
  const { run, busy, problem } = useAction(async () => {
    const body = { kind, title, text, starts_at: toTime(from), ends_at: to === '' ? null : toTime(to) }
    if (notice === undefined) await call('POST', 'operator/notices', body)
    else await call('PUT', `operator/notices/${notice.id}`, body)
    props.onDone()
    props.onClose()
  })
  return (
    <Dialog title={notice === undefined ? 'New notice' : 'Edit notice'} onClose={props.onClose}>
      <form onSubmit={run}>
        <ChoiceButtons label="Kind" value={kind} options={KINDS} onChange={setKind} />
        <TextField label="Title" required maxLength={120} value={title} onText={setTitle} />
        <Field label="Text" hint="What it means for customers, and what you do about it.">
          <textarea
            rows={4}
            maxLength={2_000}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </Field>
        <TextField
          label="From (UTC)"
          hint="Maintenance is announced in the dashboard from seven days before."
          type="datetime-local"
          required
          value={from}
          onText={setFrom}
        />
        <TextField
          label="To (UTC)"
          hint="Empty while the end is not known."
          type="datetime-local"
          value={to}
          onText={setTo}
        />
        <Problem text={problem} />
        <footer>
          <Button onClick={props.onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={busy}>
            Publish
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

import { useEffect, useState } from 'preact/hooks'
import { useSession } from '../session.ts'
import { CopyButton } from '../ui/copy.tsx'
import { Badge, Card, Choice } from '../ui/parts.tsx'

interface ChainEvent {
  id: string
  seq: number
  kind: string
  created_at: string
  data: unknown
}

const KINDS = [
  'block_added',
  'mempool_entry',
  'virtual_chain_changed',
  'krc20_activity',
  'covenant_execution',
] as const
const KEPT = 200
const RETRY_MS = 2_000

/** The tail of the stream: the same socket protocol that keys use, opened with the session's cookie. */
export function Events() {
  const { environment } = useSession()
  const [kind, setKind] = useState<(typeof KINDS)[number]>('block_added')
  const [paused, setPaused] = useState(false)
  const { events, state } = useStream(environment, kind, paused)
  const address = `${location.origin.replace(/^http/, 'ws')}/v1/ws?api_key=$KEY`
  return (
    <>
      <Card
        title="Live events"
        aside={
          <div class="row">
            <Badge tone={state === 'live' ? 'good' : 'warn'}>{paused ? 'paused' : state}</Badge>
            <button type="button" class="button small" onClick={() => setPaused(!paused)}>
              {paused ? 'Go on' : 'Pause'}
            </button>
          </div>
        }
      >
        <Choice label="Kind" value={kind} options={KINDS} onChange={setKind} />
        <ol class="tail" aria-live="off">
          {events.map((event) => (
            <li key={event.id}>
              <details>
                <summary>
                  <code>#{event.seq}</code> <span class="muted">{event.created_at.slice(11, 23)}</span>{' '}
                  <span class="ellipsis">{JSON.stringify(event.data)}</span>
                </summary>
                <pre>{JSON.stringify(event, null, 2)}</pre>
              </details>
            </li>
          ))}
          {events.length === 0 && <li class="muted">Waiting for the first event…</li>}
        </ol>
      </Card>
      <div class="api-call">
        <code>
          <b>WS</b> {address.replace(location.origin.replace(/^http/, 'ws'), '')}{' '}
          {`{"op":"subscribe","kinds":["${kind}"]}`}
        </code>
        <span class="price">0 credits</span>
        <CopyButton
          text={`npx wscat -c "${address}" -x '{"op":"subscribe","kinds":["${kind}"]}'`}
          label="Copy command"
        />
      </div>
    </>
  )
}

function useStream(environment: string, kind: string, paused: boolean) {
  const [events, setEvents] = useState<ChainEvent[]>([])
  const [state, setState] = useState('connecting')
  useEffect(() => setEvents([]), [environment, kind])
  useEffect(() => {
    if (paused) return
    let socket: WebSocket | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let ended = false
    const open = () => {
      setState('connecting')
      const base = location.origin.replace(/^http/, 'ws')
      socket = new WebSocket(`${base}/dashboard/api/stream?environment=${environment}`)
      socket.onopen = () => socket?.send(JSON.stringify({ op: 'subscribe', kinds: [kind] }))
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(String(data)) as { type: string; event?: ChainEvent } & ChainEvent
        if (frame.type === 'live') setState('live')
        if (frame.type !== 'event') return
        const event = frame.event ?? frame
        setEvents((before) => [event, ...before].slice(0, KEPT))
      }
      socket.onclose = () => {
        setState('closed')
        if (!ended) timer = setTimeout(open, RETRY_MS)
      }
    }
    open()
    return () => {
      ended = true
      clearTimeout(timer)
      socket?.close()
    }
  }, [environment, kind, paused])
  return { events, state }
}

import { useEffect, useState } from 'preact/hooks'
import type { EventKind } from '../../../events/kinds.ts'
import { call } from '../api.ts'
import { EVENT_KIND_NAMES, KIND_INFO, NEEDS_ADDRESSES, splitAddresses } from '../event-kinds.ts'
import { prettyJson } from '../pretty-json.ts'
import { useSession } from '../session.ts'
import { streamCommand } from '../snippets.ts'
import { CopyButton } from '../ui/copy.tsx'
import { Badge, Button, Card, Empty, Problem, Select } from '../ui/parts.tsx'

interface ChainEvent {
  id: string
  seq: number
  created_at: string
}

interface Frame {
  type: string
  event?: ChainEvent
  message?: string
}

interface ShownEvent extends ChainEvent {
  /** The text as received, because a parser would round numbers above 2^53. */
  text: string
}

const KEPT = 200
const RETRY_MS = 2_000
const TYPING_MS = 500
/** The stream's close code; a call then finds out whether the session has ended. */
const SIGNED_OUT = 4401

/** The tail of the stream. It uses the same socket protocol as keys, authenticated with the session's cookie. */
export function Events() {
  const { environment } = useSession()
  const [kind, setKind] = useState<EventKind>('block_added')
  const [typed, setTyped] = useState('')
  const [paused, setPaused] = useState(false)
  const byAddress = KIND_INFO[kind].byAddress
  const subscription = JSON.stringify({
    op: 'subscribe',
    kinds: [kind],
    ...(byAddress && typed !== '' ? { addresses: splitAddresses(typed) } : {}),
  })
  const settled = useSettled(subscription)
  const isIncomplete = kind === NEEDS_ADDRESSES && typed === ''
  const { events, state, problem } = useStream(environment, settled, paused || isIncomplete)
  return (
    <>
      <Card
        title="Live events"
        aside={
          <div class="row">
            <Badge tone={paused || state !== 'live' ? 'warn' : 'good'}>
              {paused ? 'paused' : isIncomplete ? 'no address' : state}
            </Badge>
            <Button look="small" onClick={() => setPaused(!paused)}>
              {paused ? 'Go on' : 'Pause'}
            </Button>
          </div>
        }
      >
        <div class="row">
          <Select label="Kind" value={kind} options={EVENT_KIND_NAMES} onChange={setKind} />
          {byAddress ? (
            <input
              class="grow"
              aria-label="Addresses"
              placeholder={
                kind === NEEDS_ADDRESSES ? 'Addresses to watch' : 'Only these addresses (optional)'
              }
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value.trim())}
            />
          ) : (
            <span class="muted">{KIND_INFO[kind].text}</span>
          )}
        </div>
        <Problem text={problem} />
        {events.length === 0 ? (
          <Empty>
            <strong>{isIncomplete ? 'Which addresses?' : 'Waiting for the first event…'}</strong>
            <p class="muted">
              {isIncomplete
                ? 'This kind is sent for the addresses that you name.'
                : `Shown as soon as it happens: ${KIND_INFO[kind].text}.`}
            </p>
          </Empty>
        ) : (
          <ol class="tail" aria-live="off">
            {events.map((event) => (
              <li key={event.id}>
                <details>
                  <summary>
                    <code class="accent">#{event.seq}</code>
                    <code class="muted">{event.created_at.slice(11, 23)}</code>
                    <span class="ellipsis">{dataOf(event.text)}</span>
                  </summary>
                  <pre>{prettyJson(event.text)}</pre>
                </details>
              </li>
            ))}
          </ol>
        )}
      </Card>
      <div class="api-call">
        <code>
          <b>WS</b> /v1/ws?api_key=$TAPELINE_KEY {subscription}
        </code>
        <span class="price">0 credits</span>
        <CopyButton text={streamCommand(subscription, location.origin)} label="Copy command" />
      </div>
    </>
  )
}

/** The data of the event in a frame. */
function dataOf(text: string): string {
  const at = text.indexOf('"data":')
  return at === -1 ? text : text.slice(at + '"data":'.length, -'}}'.length)
}

/** A value that has not changed for a moment, so that nobody subscribes to half an address. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

function useStream(environment: string, subscription: string, stopped: boolean) {
  const [events, setEvents] = useState<ShownEvent[]>([])
  const [state, setState] = useState('connecting')
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    setEvents([])
    setProblem(undefined)
  }, [environment, subscription])
  useEffect(() => {
    if (stopped) return
    let socket: WebSocket | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let ended = false
    const open = () => {
      setState('connecting')
      const base = location.origin.replace(/^http/, 'ws')
      socket = new WebSocket(`${base}/dashboard/api/stream?environment=${environment}`)
      socket.onopen = () => socket?.send(subscription)
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(String(data)) as Frame
        if (frame.type === 'live') {
          setState('live')
          setProblem(undefined)
        }
        if (frame.type === 'error') setProblem(frame.message ?? 'The stream refused this.')
        const { event } = frame
        if (event !== undefined) {
          setEvents((before) => [{ ...event, text: String(data) }, ...before].slice(0, KEPT))
        }
      }
      socket.onclose = ({ code, reason }) => {
        setState('closed')
        if (code === SIGNED_OUT) void call('GET', 'keys').catch(() => {})
        if (ended) return
        if (reason !== '') setProblem(`The stream was closed (${code}): ${reason}`)
        timer = setTimeout(open, RETRY_MS)
      }
    }
    open()
    return () => {
      ended = true
      clearTimeout(timer)
      socket?.close()
    }
  }, [environment, subscription, stopped])
  return { events, state, problem }
}

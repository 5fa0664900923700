import { useState } from 'preact/hooks'
import type { DeliveryView, RedeliveryView } from '../../wire.ts'
import { call } from '../api.ts'
import { ago, ahead, count, plural } from '../format.ts'
import { useSession } from '../session.ts'
import { Badge, Button, Empty, Problem, useAction } from '../ui/parts.tsx'
import { Turn } from '../ui/turn.tsx'
import { useView } from '../use-view.ts'
import { DeliveryPage } from './delivery-detail.tsx'

type Delivery = Omit<DeliveryView, 'request' | 'response'>

interface DeliveryList {
  deliveries: Delivery[]
  next_cursor: string | null
}

const TONES = { delivered: 'good', pending: 'warn', failed: 'bad' }
const EVERY_MS = 2_000

/** Request, answer, duration and next attempt of each delivery; each can be sent again. */
export function DeliveryTable({ webhookId, onNote }: { webhookId: string; onNote: (note: string) => void }) {
  const { environment } = useSession()
  const [before, setBefore] = useState<string[]>([])
  const [opened, setOpened] = useState<{ id: string; page: DeliveryList }>()
  const cursor = before.at(-1)
  const path = `/v1/webhooks/${webhookId}/deliveries?limit=25${cursor === undefined ? '' : `&cursor=${cursor}`}`
  const everyMs = opened === undefined && cursor === undefined ? EVERY_MS : 0
  const log = useView<DeliveryList>(path, everyMs, webhookId)
  // The list stays still while one of its entries is open.
  const page = opened?.page ?? log.value
  const turn = (cursors: string[]) => {
    setOpened(undefined)
    setBefore(cursors)
  }
  const again = async (delivery: Delivery) => {
    const name = `webhooks/${environment}/${webhookId}/deliveries/${delivery.id}/redeliver`
    await call<RedeliveryView>('POST', name, {})
    onNote(`Event #${delivery.seq} is sent again.`)
    turn([])
    log.reload()
  }
  return (
    <>
      <Problem text={log.error} />
      {page?.deliveries.length === 0 && cursor === undefined && (
        <Empty>
          <strong>Nothing was delivered yet</strong>
          <p class="muted">Send a test event, or wait for the first event of these kinds.</p>
        </Empty>
      )}
      {page !== undefined && page.deliveries.length > 0 && (
        <table class="stack log" data-testid="deliveries">
          <thead>
            <tr>
              <th>Event</th>
              <th>State</th>
              <th>Response</th>
              <th>When</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {page.deliveries.map((delivery) => (
              <DeliveryRow
                key={delivery.id}
                delivery={delivery}
                isOpen={opened?.id === delivery.id}
                onToggle={() => setOpened(opened?.id === delivery.id ? undefined : { id: delivery.id, page })}
                webhookId={webhookId}
                onAgain={again}
              />
            ))}
          </tbody>
        </table>
      )}
      <Turn
        before={before}
        next={page?.next_cursor}
        names={['Newer', 'Older']}
        text="Pending ones, and those of the last seven days"
        onTurn={turn}
      />
    </>
  )
}

function DeliveryRow(props: {
  delivery: Delivery
  webhookId: string
  isOpen: boolean
  onToggle: () => void
  onAgain: (delivery: Delivery) => Promise<void>
}) {
  const { delivery } = props
  const again = useAction(() => props.onAgain(delivery))
  return (
    <>
      <tr class={props.isOpen ? 'open' : ''}>
        <td data-label="Event">
          <code>{delivery.kind}</code>
          <div class="muted tiny">#{delivery.seq}</div>
        </td>
        <td data-label="State">
          <Badge tone={TONES[delivery.state]}>{delivery.state}</Badge>
          <div class="muted tiny">{triesOf(delivery)}</div>
        </td>
        <td data-label="Response">
          {delivery.last_status ?? '–'}
          {delivery.duration_ms !== null && ` in ${count(delivery.duration_ms)} ms`}
          <div class="bad-text tiny">{delivery.last_error}</div>
        </td>
        <td data-label="When" class="nowrap">
          {ago(delivery.last_attempt_at ?? delivery.created_at)}
          <div class="muted tiny">
            {delivery.attempts > 0 &&
              delivery.next_attempt_at !== null &&
              `next try ${ahead(delivery.next_attempt_at)}`}
          </div>
        </td>
        <td class="actions">
          <Button look="small" aria-expanded={props.isOpen} onClick={props.onToggle}>
            {props.isOpen ? 'Hide' : 'Show'}
          </Button>
          <Button look="small" onClick={again.run} disabled={again.busy}>
            {delivery.state === 'pending' ? 'Send now' : 'Send again'}
          </Button>
        </td>
      </tr>
      {(props.isOpen || again.problem !== undefined) && (
        <tr class="detail">
          <td colSpan={5}>
            <Problem text={again.problem} />
            {props.isOpen && <DeliveryPage webhookId={props.webhookId} deliveryId={delivery.id} />}
          </td>
        </tr>
      )}
    </>
  )
}

const triesOf = ({ attempts }: Delivery) => (attempts === 0 ? 'first try' : plural(attempts, 'try', 'tries'))

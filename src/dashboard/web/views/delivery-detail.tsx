import type { DeliveryView, HeaderView } from '../../wire.ts'
import { call } from '../api.ts'
import { bytes, count, dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { prettyJson } from '../pretty-json.ts'
import { useSession } from '../session.ts'
import { CopyButton } from '../ui/copy.tsx'
import { Problem } from '../ui/parts.tsx'

/** One delivery in full: when it was sent, what was sent and what was received. */
export function DeliveryPage(props: { webhookId: string; deliveryId: string }) {
  const { webhookId, deliveryId } = props
  const { environment } = useSession()
  const { value, error } = useLoad(
    () => call<DeliveryView>('GET', `webhooks/${environment}/${webhookId}/deliveries/${deliveryId}`),
    [environment, webhookId, deliveryId],
  )
  if (value === undefined) return <Problem text={error} />
  const { request, response } = value
  const isBatch = request.headers.some(({ name, value: text }) => name === 'X-Svc-Event' && text === 'batch')
  return (
    <div class="exchange">
      <dl class="facts">
        <Fact name="Delivery" value={value.id} />
        <Fact name="Event" value={value.event_id} />
        <Fact name="Planned" value={`${dateTime(value.created_at)} UTC`} />
        {value.last_attempt_at && <Fact name="Last try" value={`${dateTime(value.last_attempt_at)} UTC`} />}
        {value.next_attempt_at && <Fact name="Next try" value={`${dateTime(value.next_attempt_at)} UTC`} />}
      </dl>
      <section>
        <header class="row between">
          <h3>
            Request{' '}
            {request.body && (
              <small class="muted">
                {bytes(request.body.bytes)}
                {request.body.truncated && ', shown in part'}
              </small>
            )}
          </h3>
          {request.body && <CopyButton text={request.body.text} label="Copy body" />}
        </header>
        <Headers
          first={`POST ${request.url}`}
          headers={request.headers}
          none="Not sent yet: the headers are made with each try."
          testId="request-headers"
        />
        {isBatch && (
          <p class="muted tiny">Sent in a batch: length and signatures are those of the whole array.</p>
        )}
        {request.body ? (
          <pre data-testid="request-body">{prettyJson(request.body.text)}</pre>
        ) : (
          <p class="muted">The event log no longer has this event.</p>
        )}
      </section>
      <section>
        <h3>
          Response{' '}
          <small class="muted">
            {value.last_status ?? 'none yet'}
            {value.duration_ms !== null && ` in ${count(value.duration_ms)} ms`}
          </small>
        </h3>
        {response === null ? (
          <p class="muted">{value.last_error ?? 'Nobody has answered yet.'}</p>
        ) : (
          <>
            <Headers
              first={`${value.last_status}`}
              headers={response.headers}
              none="Its headers were not kept."
              testId="response-headers"
            />
            {response.body === null ? (
              <p class="muted">No body.</p>
            ) : (
              <pre data-testid="response-body">{prettyJson(response.body)}</pre>
            )}
          </>
        )}
      </section>
    </div>
  )
}

/** A head as it was on the wire, with its first line shortened. */
function Headers(props: { first: string; headers: HeaderView[]; none: string; testId: string }) {
  return (
    <div class="head-lines" data-testid={props.testId}>
      <strong>{props.first}</strong>
      <dl>
        {props.headers.map(({ name, value }, index) => (
          <div key={index}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {props.headers.length === 0 && <span class="muted">{props.none}</span>}
    </div>
  )
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

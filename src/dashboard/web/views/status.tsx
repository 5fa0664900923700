import type { SourceStatusView, StatusView } from '../../wire.ts'
import { call } from '../api.ts'
import { ago, compact, count, duration, percent } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { Badge, Card, Empty, Page, Problem, Stat } from '../ui/parts.tsx'

const TONES: Record<string, string> = {
  healthy: 'good',
  stale: 'warn',
  down: 'bad',
  ok: 'good',
  degraded: 'warn',
}

export function Status() {
  const { environment } = useSession()
  const { value, error } = useLoad(() => call<{ environments: StatusView[] }>('GET', 'status'), [], 3_000)
  const status = value?.environments.find((one) => one.environment === environment)
  return (
    <Page
      title="Status"
      lead="What is recorded right now, and what was missed in the last 24 hours."
      actions={status && <Badge tone={TONES[status.status] ?? ''}>{status.status}</Badge>}
    >
      <Problem text={error} />
      {status && (
        <>
          <Card title="Sources" aside={<StripLegend />}>
            {status.sources.length === 0 && <Empty>No venue is recorded in this environment.</Empty>}
            {status.sources.map((source) => (
              <Source key={source.source} source={source} />
            ))}
          </Card>
          <div class="grid two">
            <Card title="Nodes">
              {status.nodes.length === 0 && <Empty>No node is connected in this environment.</Empty>}
              {status.nodes.map((node) => (
                <div key={node.name} class="row between line">
                  <span>
                    <strong>{node.name}</strong>{' '}
                    <span class="muted">
                      {node.daa_score !== null && `DAA ${count(node.daa_score)}`}
                      {node.lag !== null && node.lag > 0 && ` · ${count(node.lag)} behind`}
                    </span>
                  </span>
                  <Badge tone={node.synced ? 'good' : 'warn'}>
                    {node.synced ? node.state : `${node.state}, not synced`}
                  </Badge>
                </div>
              ))}
            </Card>
            <Card title="Webhook deliveries">
              <div class="stats">
                <Stat label="Waiting" value={count(status.webhooks.pending)} note="of all accounts" />
                <Stat
                  label="Oldest of them"
                  value={
                    status.webhooks.pending === 0 ? '–' : duration(status.webhooks.oldest_pending_seconds)
                  }
                  note="since it was planned"
                />
              </div>
            </Card>
          </div>
        </>
      )}
    </Page>
  )
}

/** What the colours of the strips mean. */
function StripLegend() {
  const tones = [
    ['full', 'observed'],
    ['most', 'over 90%'],
    ['half', 'over 50%'],
    ['little', 'less'],
    ['none', 'before the first record'],
  ]
  return (
    <ul class="legend tiny">
      {tones.map(([tone, text]) => (
        <li key={tone}>
          <i class={`heat ${tone}`} />
          {text}
        </li>
      ))}
    </ul>
  )
}

function Source({ source }: { source: SourceStatusView }) {
  return (
    <div class="source">
      <div class="row between">
        <span>
          <strong>{source.source}</strong>{' '}
          <span class="muted">
            last event {ago(source.last_event_at)} · {compact(source.rows_inserted)} rows
            {source.backfill !== null && source.backfill < 1 && ` · backfill ${percent(source.backfill)}`}
          </span>
        </span>
        <Badge tone={TONES[source.status] ?? ''}>{source.status}</Badge>
      </div>
      <div class="strip" role="img" aria-label={`${source.source}, the last 24 hours: ${lossOf(source)}`}>
        {source.strip.map((share, index) => (
          <i key={index} class={`heat ${toneOf(share)}`} title={titleOf(share, index, source.strip.length)} />
        ))}
      </div>
      <div class="row between muted tiny">
        <span>24 h ago</span>
        <span>{lossOf(source)}</span>
        <span>now</span>
      </div>
    </div>
  )
}

/** Interruptions are what happened, holes what is left after history was asked for. */
function lossOf({ strip, gaps_24h: gaps }: SourceStatusView): string {
  if (strip.every((share) => share === null)) return 'not recorded before'
  const holes = strip.filter((share) => share !== null && toneOf(share) !== 'full').length
  const left = holes === 0 ? 'no holes' : `holes in ${holes} half hours`
  return gaps === 0 ? left : `${left} · ${count(gaps)} interruptions`
}

function toneOf(share: number | null): string {
  if (share === null) return 'none'
  if (share >= 0.999) return 'full'
  return share >= 0.9 ? 'most' : share >= 0.5 ? 'half' : 'little'
}

function titleOf(share: number | null, index: number, parts: number): string {
  const hours = (((parts - index) * 24) / parts).toFixed(1)
  return `${hours} h ago: ${share === null ? 'before the first record' : `${percent(share)} observed`}`
}

import type { DatasetStatusView, SourceStatusView, StatusView } from '../../wire.ts'
import { call } from '../api.ts'
import { ago, compact, count, dateTime, duration, percent, plural } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { IdleOr } from '../ui/idle-note.tsx'
import { Badge, Card, PageFrame, Problem, Stat } from '../ui/parts.tsx'

const TONES: Record<string, string> = {
  healthy: 'good',
  stale: 'warn',
  down: 'bad',
  ok: 'good',
  degraded: 'warn',
}
/** Shown in grey, because something that was never recorded is not broken. */
const NOT_YET = 'not recorded yet'

export function StatusPage() {
  const { environment } = useSession()
  const { value, error } = useLoad(() => call<{ environments: StatusView[] }>('GET', 'status'), [], 3_000)
  const status = value?.environments.find((one) => one.environment === environment)
  return (
    <PageFrame
      title="Status"
      lead="What is recorded right now, and what was missed in the last 24 hours."
      actions={status && <Overall status={status} />}
    >
      <Problem text={error} />
      {value && status === undefined && <IdleOr part="market">This environment is not running.</IdleOr>}
      {status && (
        <>
          <Card title="Sources" aside={<StripLegend />}>
            {status.sources.length === 0 && <IdleOr part="market">The recorders are starting.</IdleOr>}
            {status.sources.map((source) => (
              <Source key={source.source} source={source} />
            ))}
          </Card>
          <div class="grid two">
            <Card title="Nodes">
              {status.nodes.length === 0 && <IdleOr part="chain">The nodes are starting.</IdleOr>}
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
    </PageFrame>
  )
}

/** Red or yellow only for something that has worked before. */
function Overall({ status }: { status: StatusView }) {
  const isNotYet =
    status.status !== 'ok' &&
    status.nodes.every((node) => node.synced) &&
    status.sources.every((source) => source.status === 'healthy' || !hasRecord(source))
  const isIdle = status.sources.length === 0 && status.nodes.length === 0
  if (isIdle) return <Badge tone="">nothing is recorded</Badge>
  return isNotYet ? (
    <Badge tone="">{NOT_YET}</Badge>
  ) : (
    <Badge tone={TONES[status.status] ?? ''}>{status.status}</Badge>
  )
}

function hasRecord({ datasets, last_event_at: last }: SourceStatusView): boolean {
  return last !== null || datasets.some(({ from }) => from !== null)
}

/** Explains the colours of the strips. */
function StripLegend() {
  const tones = [
    ['full', 'observed'],
    ['most', 'over 90%'],
    ['half', 'over 50%'],
    ['little', 'less'],
    ['none', NOT_YET],
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
  const isRecorded = hasRecord(source)
  return (
    <section class="source" aria-label={source.source}>
      <div class="row between">
        <span>
          <strong>{source.source}</strong>{' '}
          <span class="muted">
            {isRecorded && `${lastEventOf(source)} · `}
            {compact(source.rows_inserted)} {source.rows_inserted === 1 ? 'row' : 'rows'} since the start
            {source.backfill !== null && source.backfill < 1 && ` · backfill ${percent(source.backfill)}`}
            {source.gaps_24h > 0 && isRecorded && ` · ${plural(source.gaps_24h, 'interruption')} in 24 h`}
            {source.audit.differences > 0 &&
              ` · ${plural(source.audit.differences, 'difference')} found by self-checks`}
          </span>
        </span>
        {isRecorded ? (
          <Badge tone={TONES[source.status] ?? ''}>{source.status}</Badge>
        ) : (
          <Badge tone="">{NOT_YET}</Badge>
        )}
      </div>
      {source.notice !== null && <p class="muted tiny">{source.notice}</p>}
      {source.datasets.map((dataset) => (
        <Dataset key={nameOf(dataset)} source={source.source} dataset={dataset} />
      ))}
    </section>
  )
}

function lastEventOf({ last_event_at: last }: SourceStatusView): string {
  return last === null ? 'no event since the start' : `last event ${ago(last)}`
}

const NAMES: Record<string, string> = { snapshots: 'order books', open_interest: 'open interest' }

function nameOf({ dataset, interval }: DatasetStatusView): string {
  const name = NAMES[dataset] ?? dataset
  return dataset === 'candles' && interval !== null ? `${name} ${interval}` : name
}

function Dataset({ source, dataset }: { source: string; dataset: DatasetStatusView }) {
  const { strip } = dataset
  const range = rangeOf(dataset)
  const gaps = gapsOf(dataset)
  return (
    <div class="dataset" data-dataset={nameOf(dataset)}>
      <span>{nameOf(dataset)}</span>
      <div
        class="strip"
        role="img"
        aria-label={`${source} ${nameOf(dataset)}, the last 24 hours: ${gaps ?? range}`}
      >
        {strip.map((share, index) => (
          <i key={index} class={`heat ${toneOf(share)}`} title={titleOf(share, index, strip.length)} />
        ))}
      </div>
      <span class="muted tiny">
        {range}
        {gaps !== undefined && ` · ${gaps}`}
      </span>
    </div>
  )
}

/** Coverage up to this long ago counts as current, because recorders write it with a delay. */
const NOW_MS = 300_000

function rangeOf({ from, to }: DatasetStatusView): string {
  if (from === null || to === null) return NOT_YET
  const isNow = Date.now() - Date.parse(to) < NOW_MS
  if (isNow) return `since ${dateTime(from)}`
  const [first, last] = [dateTime(from), dateTime(to)]
  return `${first} to ${first.slice(0, 10) === last.slice(0, 10) ? last.slice(11) : last}`
}

/** The gaps that remain after backfill. */
function gapsOf({ strip, from }: DatasetStatusView): string | undefined {
  if (from === null) return undefined
  const parts = strip.filter((share) => share !== null && toneOf(share) !== 'full').length
  return parts === 0 ? 'no gaps' : `gaps in ${plural(parts, 'half hour')}`
}

function toneOf(share: number | null): string {
  if (share === null) return 'none'
  if (share >= 0.999) return 'full'
  return share >= 0.9 ? 'most' : share >= 0.5 ? 'half' : 'little'
}

function titleOf(share: number | null, index: number, parts: number): string {
  const hours = (((parts - index) * 24) / parts).toFixed(1)
  return `${hours} h ago: ${share === null ? NOT_YET : `${percent(share)} observed`}`
}

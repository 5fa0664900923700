import type { NoticeRecord } from '../../accounts/notices.ts'
import { SOURCE_INFO } from '../../core/source.ts'
import { DAY_MS, formatTime } from '../../core/time.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import { encodedFile } from '../site.ts'
import { type Html, html, type Link, pageFrame } from './html.ts'
import { HTML, type PublicPage } from './public-page.ts'
import { type EnvironmentFacts, type SourceHistory, STATUS_DAYS, type StatusFacts } from './status-facts.ts'

export const STATUS_PATH = '/status'
/** The page is built at most once in this time, no matter how many visitors request it. */
const FRESH_MS = 15_000
/** Used while the history is being read, which takes seconds after a start. */
const UNFINISHED_MS = 2_000

/** The public state of the service: uptime, gaps of each source, incidents and maintenance. */
export function statusPage(deps: {
  facts: () => Promise<StatusFacts>
  links: readonly Link[]
  clock: Clock
}): PublicPage {
  let made: { page: ReturnType<typeof render>; untilMs: number } | undefined
  let making: Promise<ReturnType<typeof render>> | undefined
  const render = (facts: StatusFacts) => {
    const body = bodyOf(facts)
    const againAfterSeconds = hasHistory(facts) ? undefined : 1 + freshMs(facts) / 1000
    const text = pageFrame({ title: 'Status', here: STATUS_PATH, links: deps.links, body, againAfterSeconds })
    return { body: text, encoded: encodedFile() }
  }
  const make = async () => {
    const facts = await deps.facts()
    const page = render(facts)
    made = { page, untilMs: elapsedMs(deps.clock) + freshMs(facts) }
    return page
  }
  const read = () => {
    if (made !== undefined && elapsedMs(deps.clock) < made.untilMs) return made.page
    making ??= make().finally(() => {
      making = undefined
    })
    return making
  }
  return { path: STATUS_PATH, contentType: HTML, maxAgeSeconds: FRESH_MS / 1000, read }
}

/** If the history could not be read, it is retried later, so there is no need to refresh the page sooner. */
function freshMs(facts: StatusFacts): number {
  return facts.isReading && !hasHistory(facts) ? UNFINISHED_MS : FRESH_MS
}

function hasHistory({ environments }: StatusFacts): boolean {
  return environments.every(({ live, sources }) =>
    (live?.sources ?? []).every(({ source }) => sources?.some((each) => each.source === source)),
  )
}

const STATES = {
  ok: ['good', 'Everything works'],
  degraded: ['warn', 'Some parts do not work'],
  down: ['bad', 'Nothing works'],
} as const
const SOURCE_STATES = {
  healthy: ['good', 'recording'],
  stale: ['warn', 'late'],
  down: ['bad', 'not recording'],
} as const

const ENVIRONMENT_NAMES = { live: 'Live environment', test: 'Test environment' } as const

function bodyOf(facts: StatusFacts): Html {
  const { environments, atMs } = facts
  const now = facts.notices.filter(
    ({ startsAtMs, endsAtMs }) => startsAtMs <= atMs && (endsAtMs ?? atMs + 1) > atMs,
  )
  const planned = facts.notices.filter(({ startsAtMs }) => startsAtMs > atMs)
  const past = facts.notices.filter((notice) => !now.includes(notice) && !planned.includes(notice))
  const [tone, words] = stateOf(environments, now)
  const [only] = environments
  const about = only !== undefined && environments.length === 1 ? `${aboutOf(only)} ` : ''
  return html`
<div class="between"><h1>Status</h1><span class="badge ${tone}">${words}</span></div>
<p class="muted small">${about}${shownTime(atMs)} UTC.</p>
${[...now, ...planned].map(noticeCard)}
<h2>The last ${STATUS_DAYS} days</h2>
${uptimeCard(facts)}
${environments.map((one) => environmentPart(one, atMs, environments.length > 1))}
<p class="muted small">A gap is time in which at least one feed of a source was not recorded. Gaps are part of the data: every answer names those inside its range. Days are UTC days.</p>
<h2>Past incidents and maintenance</h2>
${past.length === 0 ? html`<p class="muted">None in the last ${STATUS_DAYS} days.</p>` : past.map(noticeCard)}`
}

function aboutOf({ environment, live }: EnvironmentFacts): string {
  const nodes =
    live === undefined || live.nodes.all === 0
      ? ''
      : ` ${live.nodes.synced} of ${live.nodes.all} Kaspa nodes are in step with their network.`
  return `${ENVIRONMENT_NAMES[environment]}.${nodes}`
}

function environmentPart(facts: EnvironmentFacts, atMs: number, isNamed: boolean): Html {
  const { environment, live, sources } = facts
  const isIdle = live !== undefined && live.sources.length === 0 && live.nodes.all === 0
  const [tone, words] =
    live === undefined ? UNKNOWN : isIdle ? ['', 'Nothing is recorded'] : STATES[live.status]
  return html`${
    isNamed
      ? html`<div class="between"><h2>${ENVIRONMENT_NAMES[environment]}</h2><span class="badge ${tone}">${words}</span></div>
<p class="muted small">${environment === 'live' ? 'Keys that begin with svc_live_.' : 'Keys that begin with svc_test_: simulated markets and test coins.'}${aboutOf(facts).slice(ENVIRONMENT_NAMES[environment].length + 1)}</p>`
      : undefined
  }
${(live?.sources ?? []).map(({ source, status }) =>
  sourceCard(
    source,
    SOURCE_STATES[status],
    sources?.find((one) => one.source === source),
    atMs,
  ),
)}
${live !== undefined && live.sources.length === 0 ? html`<p class="muted">No source is recorded.</p>` : undefined}`
}

const UNKNOWN = ['bad', 'The state cannot be read at the moment'] as const
const WORSE = ['ok', 'degraded', 'down'] as const

/** Combines the operator's notices with what the service observes about itself. */
function stateOf(
  environments: readonly EnvironmentFacts[],
  now: readonly NoticeRecord[],
): readonly [string, string] {
  const states = environments.flatMap(({ live }) => live?.status ?? [])
  if (states.length < environments.length) return UNKNOWN
  const worst = WORSE[Math.max(0, ...states.map((state) => WORSE.indexOf(state)))] ?? 'ok'
  // With one of two environments down, the other still works.
  const state = worst === 'down' && !states.every((each) => each === 'down') ? 'degraded' : worst
  if (state !== 'ok' || now.length === 0) return STATES[state]
  return now.some(({ kind }) => kind === 'incident')
    ? ['warn', 'An incident is open']
    : ['warn', 'Maintenance is under way']
}

function noticeCard({ kind, title, text, startsAtMs, endsAtMs }: NoticeRecord): Html {
  const until = endsAtMs === null ? ', end not known' : ` – ${shownTime(endsAtMs)}`
  return html`<section class="card ${endsAtMs === null ? 'notice' : ''}">
<div class="between"><h3>${title}</h3><span class="badge ${kind === 'incident' ? 'bad' : 'warn'}">${kind}</span></div>
<p class="muted small">${shownTime(startsAtMs)}${until} UTC</p>
${text
  .split(/\n+/)
  .filter(Boolean)
  .map((line) => html`<p>${line}</p>`)}
</section>`
}

function uptimeCard({ uptime, atMs }: StatusFacts): Html {
  const known = (uptime ?? []).filter((day) => day !== null)
  const up = known.reduce((sum, day) => sum + day.upMinutes, 0)
  const all = known.reduce((sum, day) => sum + day.minutes, 0)
  const bars = (uptime ?? []).map((day) =>
    day === null
      ? { share: null, words: 'not known' }
      : { share: day.upMinutes / day.minutes, words: `${day.minutes - day.upMinutes} min without an answer` },
  )
  const summary = all === 0 ? 'The uptime is not known yet.' : `${percent(up / all)} uptime`
  return html`<section class="card">
<div class="between"><h3>Service</h3><span class="small">${summary}</span></div>
${uptime === undefined ? undefined : barsOf('Service', summary, bars, atMs)}
</section>`
}

function sourceCard(
  source: SourceHistory['source'],
  [tone, words]: readonly [string, string],
  history: SourceHistory | undefined,
  atMs: number,
): Html {
  const name = SOURCE_INFO[source].displayName
  const known = (history?.days ?? []).filter((day) => day !== null)
  const missedMs = known.reduce((sum, day) => sum + day.missedMs, 0)
  const lengthMs = known.reduce((sum, day) => sum + day.lengthMs, 0)
  const bars = (history?.days ?? []).map((day) =>
    day === null
      ? { share: null, words: 'not recorded yet' }
      : {
          share: 1 - day.missedMs / Math.max(1, day.lengthMs),
          words: day.missedMs === 0 ? 'no gaps' : `${duration(day.missedMs)} of gaps`,
        },
  )
  const summary =
    history === undefined
      ? 'The history is being read: it is here in a moment.'
      : known.length === 0
        ? 'not recorded yet'
        : `${percent(1 - missedMs / Math.max(1, lengthMs))} without gaps`
  const gaps = (history?.datasets ?? []).filter((dataset) => dataset.missedMs > 0)
  return html`<section class="card">
<div class="between"><h3>${name} <span class="badge ${tone}">${words}</span></h3><span class="small">${summary}</span></div>
${history === undefined ? undefined : barsOf(name, summary, bars, atMs)}
${
  gaps.length === 0
    ? undefined
    : html`<p class="muted small">Gaps: ${gaps
        .map(
          ({ dataset, interval, missedMs: ms }) =>
            `${dataset.replaceAll('_', ' ')}${interval === null ? '' : ` ${interval}`} ${duration(ms)}`,
        )
        .join(', ')}</p>`
}
</section>`
}

/** One bar per day; the last one is today. */
function barsOf(
  name: string,
  summary: string,
  bars: readonly { share: number | null; words: string }[],
  atMs: number,
): Html {
  const today = Math.floor(atMs / DAY_MS)
  const rects = bars.map(({ share, words }, index) => {
    const day = formatTime((today - (bars.length - 1 - index)) * DAY_MS).slice(0, 10)
    return html`<rect class="${toneOf(share)}" x="${index * 4}" width="3" height="32"><title>${day}: ${words}</title></rect>`
  })
  const label = `${name}, the last ${bars.length} days: ${summary}`
  return html`<svg class="days" viewBox="0 0 ${Math.max(1, bars.length * 4 - 1)} 32" preserveAspectRatio="none" role="img" aria-label="${label}">${rects}</svg>
<div class="between muted small"><span>${STATUS_DAYS} days ago</span><span>today</span></div>`
}

function toneOf(share: number | null): string {
  if (share === null) return 'none'
  return share >= 0.999 ? 'full' : share >= 0.95 ? 'some' : 'much'
}

/** Never rounds up to 100 %. */
function percent(share: number): string {
  return share === 1 ? '100 %' : `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`
}

function duration(ms: number): string {
  const minutes = ms / 60_000
  if (minutes < 1) return `${Math.max(1, Math.round(ms / 1000))} s`
  if (minutes < 120) return `${Math.round(minutes)} min`
  return minutes < 48 * 60 ? `${(minutes / 60).toFixed(1)} h` : `${(minutes / 1440).toFixed(1)} days`
}

function shownTime(timeMs: number): string {
  return formatTime(timeMs).slice(0, 16).replace('T', ' ')
}

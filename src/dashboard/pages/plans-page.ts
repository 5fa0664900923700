import type { Price } from '../../api/publish/price-list.ts'
import { HISTORIES, type History, type Plan, TIERS, type Tier } from '../../core/plan.ts'
import { CREDITS_PER_EVENT } from '../../webhooks/credits.ts'
import { encodedFile } from '../site.ts'
import { type Html, html, type Link, pageFrame } from './html.ts'
import { HTML, type PublicPage } from './public-page.ts'

export const PLANS_PATH = '/plans'

/** As a record, so that a new limit of a plan does not compile without a label. */
const LIMITS: Record<Exclude<keyof Plan, 'name' | 'tier' | 'historyDays'>, string> = {
  creditsPerMonth: 'Credits per month, in each environment',
  requestsPerSecond: 'Requests per second',
  requestsPerMinute: 'Requests per minute',
  maxRowsPerRequest: 'Rows of one page',
  finestCandle: 'Finest candles',
  heavyCallsInFlight: 'Heavy calls at a time',
  streamConnections: 'Stream connections',
  streamAddresses: 'Addresses of a stream connection',
  webhookSubscriptions: 'Webhooks',
  webhookAddresses: 'Addresses of a webhook',
}
const HISTORY: Record<History, string> = {
  candles: 'Candles',
  snapshots: 'Order books and snapshots',
  trades: 'Trades',
  flow: 'Buy and sell flow',
  open_interest: 'Open interest',
  liquidations: 'Liquidations',
  funding: 'Funding rates',
}
const GROUPS: Record<string, string> = {
  market: 'Market history',
  node: 'Kaspa nodes',
  webhooks: 'Webhooks',
  account: 'Account',
}

/**
 * On a phone, the values of up to this many plans fit in one line below their label; more plans need scrolling
 * sideways.
 */
const MAX_NARROW_PLANS = 4

/** Every plan, limit and price of this service, taken from the declarations that the service itself runs on. */
export function plansPage(deps: {
  plans: readonly Plan[]
  featuresOf: (plan: Plan) => Readonly<Record<string, boolean>>
  prices: readonly Price[]
  links: readonly Link[]
}): PublicPage {
  const plans = deps.plans.toSorted(
    (a, b) => TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier) || a.creditsPerMonth - b.creditsPerMonth,
  )
  const body = html`
<h1>Plans</h1>
<p class="muted">What each plan includes, and what every call costs in credits. A request that fails costs nothing.</p>
${plansTable(plans, deps.featuresOf)}
<h2>Prices in credits</h2>
${pricesTable(deps.prices, plans)}`
  const text = pageFrame({ title: 'Plans', here: PLANS_PATH, links: deps.links, body })
  const page = { body: text, encoded: encodedFile() }
  return { path: PLANS_PATH, contentType: HTML, maxAgeSeconds: 300, read: () => page }
}

function plansTable(
  plans: readonly Plan[],
  featuresOf: (plan: Plan) => Readonly<Record<string, boolean>>,
): Html {
  const row = (label: string | Html, value: (plan: Plan) => string) =>
    html`<tr><th scope="row">${label}</th>${plans.map((plan) => html`<td>${value(plan)}</td>`)}</tr>`
  const group = (label: string) =>
    html`<tr class="group"><th scope="rowgroup" colspan="${plans.length + 1}">${label}</th></tr>`
  const limits = (Object.keys(LIMITS) as (keyof typeof LIMITS)[]).map((name) =>
    row(LIMITS[name], (plan) => shown(plan[name])),
  )
  const depths = HISTORIES.map((name) => row(HISTORY[name], (plan) => days(plan.historyDays[name])))
  const features = new Set(plans.flatMap((plan) => Object.keys(featuresOf(plan))))
  // The finest candles are already a row of the limits.
  const others = [...features].filter((name) => !name.startsWith('candles_'))
  return html`<div class="card scroll"><table class="plans${plans.length <= MAX_NARROW_PLANS ? ' narrow' : ''}">
<thead><tr><th scope="col"><span class="muted">Plan</span></th>${plans.map(
    ({ name, tier }) =>
      html`<th scope="col">${name}${name === tier ? undefined : html` <span class="muted small">tier ${tier}</span>`}</th>`,
  )}</tr></thead>
<tbody>${limits}${group('History')}${depths}${group('Features, as /v1/limits names them')}${others.map(
    (name) => row(html`<code>${name}</code>`, (plan) => (featuresOf(plan)[name] ? 'yes' : 'no')),
  )}</tbody>
</table></div>`
}

function pricesTable(prices: readonly Price[], plans: readonly Plan[]): Html {
  const group = (label: string) => html`<tr class="group"><th scope="rowgroup" colspan="3">${label}</th></tr>`
  const row = ({ operation, summary, credits, tier }: Price) =>
    html`<tr><th scope="row"><code>${operation}</code><br><span class="muted small">${summary}</span></th><td>${credits}</td><td>${planOf(tier, plans)}</td></tr>`
  const groups = [...Map.groupBy(prices, ({ tag }) => tag)]
  return html`<div class="card scroll"><table class="narrow">
<thead><tr><th scope="col">Call</th><th scope="col">Credits</th><th scope="col">From plan</th></tr></thead>
<tbody>${groups.map(([tag, rows]) => html`${group(GROUPS[tag] ?? tag)}${rows.map(row)}${tag === 'webhooks' ? delivery() : undefined}`)}</tbody>
</table></div>`
}

function delivery(): Html {
  return html`<tr><th scope="row">A delivered event<br><span class="muted small">Attempts that fail cost nothing.</span></th><td>${CREDITS_PER_EVENT} per event</td><td></td></tr>`
}

/** The lowest plan that has the tier; the tier itself if no plan has it. */
function planOf(tier: Tier, plans: readonly Plan[]): string {
  return plans.find((plan) => TIERS.indexOf(plan.tier) >= TIERS.indexOf(tier))?.name ?? tier
}

function shown(value: number | string): string {
  if (typeof value === 'string') return value
  return value === 0 ? 'none' : value.toLocaleString('en')
}

function days(value: number | null): string {
  return value === null ? 'all of it' : value === 1 ? '1 day' : `${value} days`
}

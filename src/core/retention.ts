/**
 * The operator's rules for how long rows are kept:
 *
 *   trades=90d                  a dataset
 *   candles.1s=180d             one interval of it
 *   trades@perpdex=40d          of one source
 *   candles.1s@cexa=14d         both
 *   *@predmkt_a=60d  *=forever  any dataset
 *
 * The most specific rule applies to a feed; of two equally specific rules, the one that keeps rows longer. Rows that no
 * rule matches are kept forever.
 */
import { DATASETS, type Dataset, type Feed, type FeedInterval } from './feed.ts'
import { INTERVAL_MS, type Interval, storedInterval } from './interval.ts'
import { nearest } from './nearest.ts'
import { HISTORIES, type History, type Plan } from './plan.ts'
import { resolveSource, SOURCES, type Source } from './source.ts'

export interface RetentionRule {
  /** Null matches any. */
  readonly dataset: Dataset | null
  readonly interval: FeedInterval | null
  readonly source: Source | null
  /** Null means forever. */
  readonly days: number | null
}

/** The parts of a feed that a rule can match; a rule applies to all symbols. */
type KeptFeed = Pick<Feed, 'dataset' | 'source' | 'interval'>

const MAX_RULES = 100
const MAX_DAYS = 36_500
const RULE = /^([^.@=]+)(?:\.([^.@=]+))?(?:@([^.@=]+))?=([^=]+)$/
const DAYS = /^([1-9]\d{0,4})d$/
const FOREVER = 'forever'
const INTERVALS = Object.keys(INTERVAL_MS) as Interval[]

/** The rules in a text, or a sentence about its first fault. */
export function parseRetention(text: string): readonly RetentionRule[] | { readonly fault: string } {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (parts.length > MAX_RULES)
    return { fault: `it has ${parts.length} rules, at most ${MAX_RULES} are taken` }
  const rules = new Map<string, RetentionRule>()
  for (const part of parts) {
    const rule = parseRule(part)
    if ('fault' in rule) return { fault: `"${part}": ${rule.fault}` }
    const selector = selectorOf(rule)
    if (rules.has(selector)) return { fault: `"${part}": ${selector} has a rule already` }
    rules.set(selector, rule)
  }
  return [...rules.values()]
}

function parseRule(text: string): RetentionRule | { readonly fault: string } {
  const [, datasetName, intervalName, sourceName, kept] = RULE.exec(text) ?? []
  if (datasetName === undefined || kept === undefined)
    return { fault: 'a rule looks like trades=90d, candles.1s=180d, trades@perpdex=40d or *=forever' }
  const dataset = datasetName === '*' ? null : DATASETS.find((name) => name === datasetName)
  if (dataset === undefined) return { fault: unknown('dataset', datasetName, ['*', ...DATASETS]) }
  const interval = intervalName === undefined ? null : INTERVALS.find((name) => name === intervalName)
  if (interval === undefined) return { fault: unknown('interval', intervalName ?? '', INTERVALS) }
  const source = sourceName === undefined ? null : resolveSource(sourceName)
  if (source === undefined) return { fault: unknown('source', sourceName ?? '', SOURCES) }
  const days = kept === FOREVER ? null : Number(DAYS.exec(kept)?.[1])
  if (days !== null && !(days <= MAX_DAYS))
    return { fault: `"${kept}" is not a time: days such as 90d, from 1d to ${MAX_DAYS}d, or ${FOREVER}` }
  return { dataset, interval: interval === null ? null : storedInterval(interval), source, days }
}

function unknown(what: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return `no ${what} is called "${name}"${near === undefined ? `; there are ${known.join(', ')}` : `; did you mean ${near}?`}`
}

function selectorOf({ dataset, interval, source }: Omit<RetentionRule, 'days'>): string {
  return `${dataset ?? '*'}${interval === null ? '' : `.${interval}`}${source === null ? '' : `@${source}`}`
}

export function showRetention(rules: readonly RetentionRule[]): string {
  const shown = rules.map((rule) => `${selectorOf(rule)}=${rule.days === null ? FOREVER : `${rule.days}d`}`)
  return shown.join(',') || `*=${FOREVER}`
}

/** How many days rows of the feed are kept; null means forever. */
export function keptDays(rules: readonly RetentionRule[], feed: KeptFeed): number | null {
  let best: { readonly names: number; readonly days: number } | undefined
  for (const { days, ...rule } of rules) {
    const named = (['dataset', 'interval', 'source'] as const).filter((part) => rule[part] !== null)
    if (named.some((part) => rule[part] !== feed[part])) continue
    const kept = days ?? Number.POSITIVE_INFINITY
    if (best === undefined || named.length > best.names || (named.length === best.names && kept > best.days))
      best = { names: named.length, days: kept }
  }
  return best === undefined || best.days === Number.POSITIVE_INFINITY ? null : best.days
}

/** The ticker reaches back as far as trades do. */
const DATASETS_OF: Record<History, readonly Dataset[]> = {
  candles: ['candles'],
  snapshots: ['snapshots'],
  trades: ['trades', 'ticker'],
  flow: ['flow'],
  open_interest: ['open_interest'],
  liquidations: ['liquidations'],
  funding: ['funding'],
}

/** The sources that have each dataset; plans promise nothing for the others. */
export const SOURCES_WITH: Record<Dataset, readonly Source[]> = {
  candles: SOURCES,
  snapshots: ['perpdex', 'predmkt_a', 'predmkt_b'],
  trades: ['perpdex', 'predmkt_a', 'predmkt_b'],
  ticker: ['cexa', 'cexa_futures'],
  flow: ['cexa'],
  open_interest: ['cexa_futures', 'perpdex', 'predmkt_b'],
  liquidations: ['cexa_futures'],
  funding: ['cexa_futures', 'perpdex'],
}

/**
 * The first promise of a plan that the rules do not keep, as a sentence. A plan with unlimited history promises only
 * what is kept.
 */
export function brokenPromise(
  rules: readonly RetentionRule[],
  plans: readonly Plan[],
  sources: readonly Source[],
): string | undefined {
  for (const plan of plans) {
    for (const history of HISTORIES) {
      const promised = plan.historyDays[history]
      if (promised === null) continue
      for (const feed of promisedFeeds(plan, history, sources)) {
        const kept = keptDays(rules, feed)
        if (kept === null || kept >= promised) continue
        const named = selectorOf({ ...feed, interval: feed.interval === '' ? null : feed.interval })
        return (
          `${named} is kept for ${kept} ${kept === 1 ? 'day' : 'days'}, but the plan ${plan.name} promises ` +
          `${promised} days of ${history}. Keep it longer, or lower historyDays.${history} of the plan in the file that TAPELINE_PLANS names.`
        )
      }
    }
  }
  return undefined
}

function promisedFeeds(plan: Plan, history: History, sources: readonly Source[]): KeptFeed[] {
  const finest = INTERVAL_MS[plan.finestCandle]
  const intervals = (Object.keys(INTERVAL_MS) as Interval[])
    .filter((interval) => history !== 'candles' || INTERVAL_MS[interval] >= finest)
    .map(storedInterval)
  return DATASETS_OF[history].flatMap((dataset) =>
    sources
      .filter((source) => SOURCES_WITH[dataset].includes(source))
      .flatMap((source) => (['', ...intervals] as const).map((interval) => ({ dataset, source, interval }))),
  )
}

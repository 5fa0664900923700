import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VENUES } from '../venues/list.ts'
import type { ExchangePlan, RecordingPlan } from '../venues/plan.ts'
import { DATASETS, type Dataset } from './feed.ts'
import { BUILT_IN_PLANS } from './plan.ts'
import {
  brokenPromise,
  keptDays,
  parseRetention,
  type RetentionRule,
  SOURCES_WITH,
  showRetention,
} from './retention.ts'
import { SOURCES, type Source } from './source.ts'

function rulesOf(text: string): readonly RetentionRule[] {
  const rules = parseRetention(text)
  assert.ok(!('fault' in rules), 'fault' in rules ? rules.fault : '')
  return rules
}

test('the rule that names the most applies; of two that name equally much the longer one', () => {
  const rules = rulesOf(
    'trades=90d, trades@perpdex=30d, candles.1s=180d, candles@cexa=40d, *@oracle=60d, *=365d',
  )
  const days = (
    dataset: 'trades' | 'candles' | 'funding',
    source: 'cexa' | 'perpdex' | 'oracle',
    interval = '',
  ) => keptDays(rules, { dataset, source, interval: interval as '1s' })
  assert.equal(days('trades', 'cexa'), 90)
  assert.equal(days('trades', 'perpdex'), 30)
  assert.equal(days('candles', 'perpdex', '1s'), 180)
  assert.equal(days('candles', 'cexa', '1m'), 40)
  assert.equal(days('candles', 'cexa', '1s'), 180, 'both name two things')
  assert.equal(days('candles', 'oracle', '5m'), 60)
  assert.equal(days('trades', 'oracle'), 90, 'both name one thing')
  assert.equal(days('funding', 'perpdex'), 365)
  assert.equal(keptDays(rulesOf('trades=1d'), { dataset: 'funding', source: 'cexa', interval: '' }), null)
  assert.equal(
    keptDays(rulesOf('*=9d,trades=forever'), { dataset: 'trades', source: 'cexa', interval: '' }),
    null,
  )
})

test('rules are shown as they can be written, with names in their stored form', () => {
  const text = 'trades=90d,candles.1s@cexa=180d,*=forever'
  assert.equal(showRetention(rulesOf(text)), text)
  assert.equal(showRetention(rulesOf('candles.24h@cexa_spot=40d')), 'candles.1d@cexa=40d')
  assert.equal(showRetention(rulesOf('')), '*=forever')
})

const FAULTS: [string, RegExp][] = [
  ['trade=90d', /"trade=90d": no dataset is called "trade"; did you mean trades\?/],
  ['trades', /a rule looks like trades=90d/],
  ['trades@nyse=90d', /no source is called "nyse"; there are cexa,/],
  ['candles.2s=9d', /no interval is called "2s"; did you mean/],
  ['trades=90', /"90" is not a time: days such as 90d, from 1d to 36500d, or forever/],
  ['trades=0d', /"0d" is not a time/],
  ['trades=36501d', /is not a time/],
  ['trades=9d,trades=8d', /"trades=8d": trades has a rule already/],
  ['candles.1d=9d,candles.24h=9d', /candles\.1d has a rule already/],
]
for (const [text, fault] of FAULTS)
  test(`${text} is refused with what is wrong`, () => {
    const rules = parseRetention(text)
    assert.match('fault' in rules ? rules.fault : '', fault)
  })

test('more rules than there can be feeds are refused before they are read', () => {
  const rules = parseRetention(Array(101).fill('trades=1d').join())
  assert.match('fault' in rules ? rules.fault : '', /101 rules, at most 100/)
})

test('a plan that promises more days than are kept is named with what to change', () => {
  const broken = (text: string, sources: readonly (typeof SOURCES)[number][] = SOURCES) =>
    brokenPromise(rulesOf(text), BUILT_IN_PLANS, sources)
  assert.equal(broken('liquidations=90d'), undefined)
  assert.equal(broken('trades=90d,snapshots=30d,candles.1s=180d,*=forever'), undefined)
  assert.equal(
    broken('trades=20d'),
    'trades@perpdex is kept for 20 days, but the plan business promises 31 days of trades. Keep it longer, or lower historyDays.trades of the plan in the file that TAPELINE_PLANS names.',
  )
  assert.match(
    broken('snapshots@predmkt_a=29d') ?? '',
    /snapshots@predmkt_a is kept for 29 days, .* developer promises 30/,
  )
  assert.equal(broken('snapshots@predmkt_a=29d', ['cexa']), undefined, 'that source is not recorded')
  assert.match(broken('candles.1s=1d') ?? '', /candles\.1s@cexa is kept for 1 day, .* business promises 31/)
  assert.equal(
    broken('*@predmkt_a=60d,*=forever'),
    undefined,
    'it has no flow, of which 184 days are promised',
  )
  assert.match(broken('flow=60d') ?? '', /flow@cexa .* developer promises 184 days of flow/)
  assert.match(broken('ticker=30d') ?? '', /ticker@cexa .* business promises 31 days of trades/)
})

test('what is promised of a source is what is recorded of it', () => {
  const sourcesWith = (hasDataset: (plan: RecordingPlan) => boolean) =>
    new Set(
      Object.values(VENUES)
        .map(({ plan }): RecordingPlan => plan)
        .filter(hasDataset)
        .map(({ source }) => source),
    )
  const isExchange = (plan: RecordingPlan): plan is ExchangePlan => plan.kind === 'exchange'
  const recorded: Record<Dataset, Set<Source>> = {
    candles: sourcesWith(() => true),
    snapshots: sourcesWith((plan) => plan.kind === 'markets' || (isExchange(plan) && plan.hasSnapshots)),
    trades: sourcesWith((plan) => plan.kind === 'markets' || (isExchange(plan) && plan.hasTrades)),
    ticker: sourcesWith((plan) => isExchange(plan) && plan.hasTicker),
    flow: sourcesWith((plan) => isExchange(plan) && plan.hasFlow),
    open_interest: sourcesWith(
      (plan) =>
        (plan.kind === 'markets' && plan.hasOpenInterest) ||
        (isExchange(plan) && plan.openInterest !== 'none'),
    ),
    liquidations: sourcesWith((plan) => isExchange(plan) && plan.hasLiquidations),
    funding: sourcesWith((plan) => isExchange(plan) && plan.hasFunding),
  }
  for (const dataset of DATASETS) assert.deepEqual(new Set(SOURCES_WITH[dataset]), recorded[dataset], dataset)
})

test('candles that a plan cannot read are not promised by it', () => {
  const plans = BUILT_IN_PLANS.filter(({ name }) => name !== 'business')
  assert.equal(brokenPromise(rulesOf('candles.1s=1d,candles.1m=1d'), plans, SOURCES), undefined)
  assert.match(brokenPromise(rulesOf('candles.5m=13d'), plans, SOURCES) ?? '', /developer promises 14/)
})

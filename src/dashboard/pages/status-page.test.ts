import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { createLogger } from '../../kit/log.ts'
import { type EnvironmentState, type StatusFacts, type StatusFactsDeps, statusFacts } from './status-facts.ts'
import { statusPage } from './status-page.ts'

const log = createLogger({ level: 'silent' })
const NOW = Date.UTC(2026, 10, 16, 12)

const live: EnvironmentState = {
  environment: 'live',
  live: async () => ({
    status: 'ok',
    sources: [{ source: 'cexa', status: 'healthy' }],
    nodes: { synced: 1, all: 1 },
  }),
  historyOf: async () => [
    { source: 'cexa', days: [null, { missedMs: 60_000, lengthMs: 86_400_000 }], datasets: [] },
  ],
}

function facts(
  { clock, notices }: Partial<StatusFactsDeps> & Pick<StatusFactsDeps, 'clock'>,
  ...environments: readonly Partial<EnvironmentState>[]
) {
  return statusFacts({
    environments: environments.map((one) => ({ ...live, ...one })),
    uptime: { days: async () => [{ upMinutes: 1_439, minutes: 1_440 }], mark: () => async () => {} },
    notices: notices ?? ({ list: async () => [] } as unknown as StatusFactsDeps['notices']),
    log,
    clock,
  })
}

const textOf = (body: Awaited<ReturnType<ReturnType<typeof statusPage>['read']>>) =>
  typeof body === 'object' && 'body' in body ? body.body : body.toString()

test('however many ask at once and again, the page is made once in a while and the history read once in minutes', async () => {
  const clock = manualClock(NOW)
  const calls = { live: 0, history: 0 }
  const page = statusPage({
    clock,
    links: [],
    facts: facts(
      { clock },
      {
        live: async () => {
          calls.live++
          return { status: 'ok', sources: [], nodes: { synced: 0, all: 0 } }
        },
        historyOf: async () => {
          calls.history++
          return []
        },
      },
    ),
  })
  await Promise.all(Array.from({ length: 100 }, () => page.read()))
  await page.read()
  assert.deepEqual(calls, { live: 1, history: 1 })
  clock.advance(15_000)
  await Promise.all(Array.from({ length: 100 }, () => page.read()))
  assert.deepEqual(calls, { live: 2, history: 1 })
  clock.advance(300_000)
  await page.read()
  assert.deepEqual(calls, { live: 3, history: 2 })
})

test('a history that takes long is shown by a later answer; uptime and shares are never rounded up to all', async () => {
  const clock = manualClock(NOW)
  let finish = () => {}
  const waiting = new Promise<void>((resolve) => {
    finish = resolve
  })
  const all = facts(
    { clock },
    {
      historyOf: async () => {
        await waiting
        return [{ source: 'cexa', days: [{ missedMs: 1_000, lengthMs: 86_400_000 }], datasets: [] }]
      },
    },
  )
  const page = statusPage({ clock, links: [], facts: all })
  const first = page.read()
  await new Promise((resolve) => setImmediate(resolve))
  clock.advance(2_000)
  const text = textOf(await first)
  assert.ok(text.includes('The history is being read') && text.includes('The uptime is not known yet'), text)
  assert.match(text, /<meta http-equiv="refresh" content="3">/)
  finish()
  await waiting
  clock.advance(2_000)
  const later = textOf(await page.read())
  assert.doesNotMatch(later, /http-equiv="refresh"/)
  assert.ok(later.includes('99.99 % without gaps') && later.includes('99.93 % uptime'), later)
})

test('what cannot be read leaves the rest of the page', async () => {
  const clock = manualClock(NOW)
  const broken = async () => {
    throw new Error('the store is away')
  }
  const notices = { list: broken } as unknown as StatusFactsDeps['notices']
  const shown: StatusFacts = await facts({ clock, notices }, { live: broken })()
  const text = textOf(await statusPage({ clock, links: [], facts: async () => shown }).read())
  assert.ok(text.includes('The state cannot be read at the moment'))
})

test('both environments are shown, each with its own state and its own sources', async () => {
  const clock = manualClock(NOW)
  const test: Partial<EnvironmentState> = {
    environment: 'test',
    live: async () => ({
      status: 'down',
      sources: [{ source: 'oracle', status: 'down' }],
      nodes: { synced: 0, all: 3 },
    }),
    historyOf: async () => [{ source: 'oracle', days: [null], datasets: [] }],
  }
  const text = textOf(await statusPage({ clock, links: [], facts: facts({ clock }, {}, test) }).read())
  const [head = '', first = '', second = ''] = text.split(/<h2>(?:Live|Test) environment/)
  assert.ok(head.includes('Some parts do not work'), head)
  assert.ok(first.includes('Everything works') && first.includes('99.93 % without gaps'), first)
  assert.ok(second.includes('Nothing works') && second.includes('0 of 3 Kaspa nodes'), second)
})

test('a source that its recorder reports later has its history soon', async () => {
  const clock = manualClock(NOW)
  let names: readonly 'cexa'[] = []
  const all = facts(
    { clock },
    {
      live: async () => ({
        status: 'ok',
        sources: names.map((source) => ({ source, status: 'healthy' })),
        nodes: { synced: 0, all: 0 },
      }),
      historyOf: async (asked) => asked.map((source) => ({ source, days: [null], datasets: [] })),
    },
  )
  assert.deepEqual((await all()).environments[0]?.sources, [])
  names = ['cexa']
  clock.advance(15_000)
  await all()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await all()).environments[0]?.sources?.[0]?.source, 'cexa')
})

test('a history that could not be read is tried again soon, and the page is loaded again at leisure', async () => {
  const clock = manualClock(NOW)
  let reads = 0
  const all = facts(
    { clock },
    {
      async historyOf() {
        reads++
        if (reads === 1) throw new Error('the store is away')
        return [{ source: 'cexa', days: [{ missedMs: 0, lengthMs: 86_400_000 }], datasets: [] }]
      },
    },
  )
  const page = statusPage({ clock, links: [], facts: all })
  const text = textOf(await page.read())
  assert.match(text, /<meta http-equiv="refresh" content="16">/)
  clock.advance(15_000)
  assert.doesNotMatch(textOf(await page.read()), /http-equiv="refresh"/)
  assert.equal(reads, 2)
})

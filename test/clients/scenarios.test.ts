/**
 * Both clients run `clients/scenarios.json` against the service, with a proxy in between that refuses, cuts and delays:
 * every row once, credits as predicted, a stream that was cut identical to one that was not.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { skip as SKIP_BROWSER, useBrowser } from '../dashboard/browser.ts'
import { exactText } from '../fakes/chain-service.ts'
import { ask } from '../fakes/client.ts'
import { openEventWriter } from '../fakes/event-writer.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { fillWorld, NOW } from '../fakes/market-world.ts'
import { type SeededRandom, seededRandom } from '../seeded-random.ts'
import { until } from '../until.ts'
import { useClient } from './browser-page.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { portOf } from './port-of.ts'
import { PYTHON, SKIP_PYTHON } from './pythons.ts'
import { type Reached, runScenarios, runStream, WATCHED_ADDRESS } from './run-typescript.ts'
import { type Found, SCENARIOS } from './scenarios.ts'
import { signedDeliveries } from './signed-deliveries.ts'

const CUTS = process.env.TAPELINE_SOAK === undefined ? 4 : 50
/** Not reached: what a client does when it is, its own tests show, where nothing but the client needs the machine. */
const TIMEOUT_MS = 280_000
const RETRIES = 8
const PYTHON_CLIENT = join(import.meta.dirname, '../../clients/python')
const SOURCES = join(import.meta.dirname, '../../clients/typescript/src')
const RUNNER = join(PYTHON_CLIENT, 'tests/run_scenarios.py')
const run = promisify(execFile)

const browser = useBrowser()
let service: MarketService
let writer: ReturnType<typeof openEventWriter>
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  writer = openEventWriter(service.folder)
  await writer.utxos([WATCHED_ADDRESS])
})
after(async () => {
  await writer.close()
  await service.stop()
})

async function python(what: string, reached: object): Promise<unknown> {
  const { stdout } = await run(PYTHON, [RUNNER, what, JSON.stringify(reached)], { maxBuffer: 2 ** 28 })
  return JSON.parse(stdout)
}

const RUNS = [
  { language: 'TypeScript', skip: false, scenarios: runScenarios },
  {
    language: 'Python',
    skip: SKIP_PYTHON,
    scenarios: async (reached: Reached) => (await python('lists', reached)) as Found,
  },
]

const pathOf = (operation: string) =>
  ({
    predmkt_a_candles: '/v1/predmkt_a/candles',
    perpdex_snapshots: '/v1/perpdex/snapshots',
    open_interest: '/v1/open-interest',
    snapshots_at: '/v1/snapshots/at',
    market: '/v1/markets/KXBTCD-26JUN1013-T61000',
  })[operation] ?? `/v1/${operation}`

type Truth = { rows: unknown[]; credits: number }
const truths = new Map<string, Promise<Truth>>()

/** The same for both clients. */
function truthOf(operation: string, params: object, key: string): Promise<Truth> {
  const name = JSON.stringify([operation, params])
  const truth = truths.get(name) ?? readTruth(operation, params, key)
  truths.set(name, truth)
  return truth
}

/** Read page by page with plain requests, without the proxy. */
async function readTruth(operation: string, params: object, key: string): Promise<Truth> {
  const rows: unknown[] = []
  let credits = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams(Object.entries(params).map(([name, value]) => [name, String(value)]))
    query.delete('identifier')
    if (cursor !== '') query.set('after', cursor)
    const answer = await ask(`${service.url}${pathOf(operation)}?${query}`, { key })
    assert.equal(answer.status, 200, answer.text)
    const body = answer.json as { data: unknown[]; meta?: { next_cursor: string | null } }
    rows.push(...(Array.isArray(body.data) ? body.data : [body]))
    credits += Number(answer.headers.get('x-credits-used'))
    cursor = body.meta?.next_cursor ?? null
  }
  return { rows, credits }
}

async function withProxy<T>(random: SeededRandom, use: (proxy: FaultProxy) => Promise<T>): Promise<T> {
  const proxy = await startFaultProxy({ target: service.url, random })
  try {
    return await use(proxy)
  } finally {
    await proxy.close()
  }
}

/** The sources as a browser runs them: without their types. */
function serveSources() {
  return createServer((request, response) => {
    const name = /^\/([a-z-]+\.ts)$/.exec(request.url ?? '')?.[1]
    response.setHeader(
      'Content-Type',
      name === undefined ? 'text/html; charset=utf-8' : 'text/javascript; charset=utf-8',
    )
    response.end(
      name === undefined
        ? '<link rel="icon" href="data:,">'
        : stripTypeScriptTypes(readFileSync(join(SOURCES, name), 'utf8')),
    )
  })
}

const STREAMS = [
  {
    language: 'TypeScript',
    skip: false,
    stream: (reached: Reached, after: number) => runStream(reached, after),
  },
  ...(['stream', 'async-stream'] as const).map((what) => ({
    language: `Python (${what})`,
    skip: SKIP_PYTHON,
    stream: async (reached: Reached, resumeAfter: number) =>
      (await python(what, { ...reached, resumeAfter, address: WATCHED_ADDRESS })) as Awaited<
        ReturnType<typeof runStream>
      >,
  })),
]

// Most of it waits: for a pause of a client, or for a cut.
describe('against the service', { concurrency: true }, () => {
  for (const { language, skip, scenarios } of RUNS) {
    test(`${language}: every row once, and credits as predicted`, { skip }, async (t) => {
      const random = seededRandom(t)
      const key = await service.key({ plan: 'enterprise', name: language })
      const truthKey = await service.key()
      // Before the client, whose first attempts would otherwise meet code that has never run.
      for (const { operation, params } of SCENARIOS.lists) await truthOf(operation, params, truthKey)
      await withProxy(random, async (proxy) => {
        const reached = { url: proxy.url, key, timeoutMs: TIMEOUT_MS, retries: RETRIES }
        const found = await scenarios(reached)
        let credits = 0
        for (const [n, { name, operation, params }] of SCENARIOS.lists.entries()) {
          const truth = await truthOf(operation, params, truthKey)
          const list = found.lists[n]
          assert.deepEqual(list?.rows, truth.rows, name)
          assert.equal(list?.credits, truth.credits, name)
          assert.equal(list?.predicted, truth.credits, name)
          assert.deepEqual(list?.unchanged, { rows: truth.rows.length, credits: 0 }, name)
          credits += truth.credits
        }
        for (const [n, { name, operation, params }] of SCENARIOS.objects.entries()) {
          const { text, headers } = await ask(
            `${service.url}${pathOf(operation)}?${new URLSearchParams(operation === 'market' ? {} : (params as Record<string, string>))}`,
            { key: truthKey },
          )
          const price = Number(headers.get('x-credits-used'))
          assert.deepEqual(
            found.objects[n],
            { value: JSON.parse(text), credits: price, predicted: price },
            name,
          )
          credits += price
        }
        for (const [n, { name, status, code }] of SCENARIOS.errors.entries()) {
          const className = `${code.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Error`
          assert.deepEqual(found.errors[n], { status, code, class_name: className }, name)
        }
        const { budget } = SCENARIOS
        assert.ok(found.budget.credits <= budget.max_credits)
        assert.equal(found.budget.rows % Number(budget.params.limit), 0)
        credits +=
          found.webhook.credits +
          (found.budget.rows / Number(budget.params.limit)) * (budget.credits / budget.pages)
        const { json } = await ask(`${service.url}/v1/webhooks`, { key })
        assert.deepEqual(
          (json.webhooks as { id: string }[]).map(({ id }) => id),
          [found.webhook.id],
          'one webhook, however often its answer was lost',
        )
        await until('the service has answered everything', proxy.isIdle, 120_000)
        const limits = (await ask(`${service.url}/v1/limits`, { key })).json as { credits: { used: number } }
        const { counts } = proxy
        const lost = proxy.lostCredits(found.request_ids)
        t.diagnostic(`${JSON.stringify(counts)}, credits ${credits}, of lost answers ${lost}`)
        assert.equal(limits.credits.used, credits + lost)
        for (const fault of ['429', '503', 'cut before', 'cut inside', 'slow'] as const)
          assert.ok(counts[fault] > 0, `the proxy made ${fault}`)
      })
    })
  }

  test('example: a prediction market against the oracle at its close', { skip: SKIP_PYTHON }, async () => {
    const file = join(PYTHON_CLIENT, 'examples/market_against_oracle.py')
    const env = {
      ...process.env,
      PYTHONPATH: PYTHON_CLIENT,
      TAPELINE_URL: service.url,
      TAPELINE_KEY: await service.key(),
    }
    const { stdout } = await run(PYTHON, [file, 'BTC'], { env })
    assert.match(stdout, /^ {2}closed {5}2026-06-10T12:00:00.000Z$/m)
    assert.match(stdout, /^ {2}market {5}up at 0\.5 \(2026-06-10T11:59:59\.500Z\)$/m)
    assert.match(stdout, /^ {2}oracle {5}\d+.* to \d+.*: Up$/m)
    assert.match(stdout, /^ {2}resolved {3}Up$/m)
  })

  test('in a browser, from another origin: rows, the cache, errors, POST, DELETE, the stream, webhooks', {
    skip: SKIP_BROWSER,
  }, async () => {
    const signed = signedDeliveries()
    const delivery = {
      headers: signed.headers,
      body: signed.body,
      secret: signed.current,
      nowMs: signed.timestamp * 1_000,
    }
    const input = {
      url: service.url,
      key: await service.key({ plan: 'enterprise', name: 'browser' }),
      address: WATCHED_ADDRESS,
      delivery,
    }
    const server = serveSources()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const page = await (await browser()).newPage()
    try {
      await page.goto(`http://127.0.0.1:${portOf(server)}/`)
      assert.deepEqual(await page.evaluate(useClient, input), {
        rows: 384,
        isCached: true,
        isTyped: true,
        isDeleted: true,
        daaScore: 'bigint 18446744073709551615',
        verified: 1,
      })
    } finally {
      await page.close()
      server.close()
    }
  })

  test(`a stream that is cut ${CUTS} times brings what the log has, once and in order`, {
    timeout: 600_000,
  }, async (t) => {
    const random = seededRandom(t)
    const start = await writer.blocks(1)
    let isWriting = true
    const proxies: FaultProxy[] = []
    const runs = STREAMS.filter(({ skip }) => skip === false).map(async ({ language, stream }) => {
      const proxy = await startFaultProxy({ target: service.url, random })
      proxy.cutStreams(CUTS)
      proxies.push(proxy)
      const key = await service.key({ plan: 'enterprise', name: language })
      const found = await stream({ url: proxy.url, key, timeoutMs: TIMEOUT_MS, retries: RETRIES }, start)
      await proxy.close()
      return { language, found, cuts: proxy.streamCuts() }
    })
    const writes = (async () => {
      while (isWriting) {
        await (random() < 0.5
          ? writer.blocks(random.int(1, 6))
          : writer.utxos(Array(random.int(1, 6)).fill(WATCHED_ADDRESS)))
        await new Promise((resolve) => setTimeout(resolve, random() * 30))
      }
      await writer.scores(1)
    })()
    const isCut = () => proxies.length === runs.length && proxies.every((proxy) => proxy.streamCuts() >= CUTS)
    while (!isCut()) await new Promise((resolve) => setTimeout(resolve, 20))
    isWriting = false
    await writes
    const truth = await storedAfter(start)
    for (const { language, found, cuts } of await Promise.all(runs)) {
      assert.deepEqual(
        found.events.map(({ seq }) => seq),
        truth.map(({ seq }) => seq),
        language,
      )
      assert.deepEqual(JSON.parse(exactText(found.events)), truth, language)
      assert.equal(cuts, CUTS)
      assert.ok(found.reconnects >= CUTS, `${language} connected again`)
      t.diagnostic(`${language}: ${found.events.length} events, ${found.reconnects} more connections`)
    }
  })
})

/** All of the log after a number; one answer of it has a bound of its own. */
async function storedAfter(start: number): Promise<{ seq: number }[]> {
  const stored: { seq: number }[] = []
  for (;;) {
    const { events } = await writer.events.after({ afterSeq: stored.at(-1)?.seq ?? start, limit: 1_000 })
    if (events.length === 0) return stored
    for (const { text } of events) stored.push(JSON.parse(text))
  }
}

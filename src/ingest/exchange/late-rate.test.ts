/** A rate that the venue publishes late: until it is there, its hour is not observed, and the rate before it is right. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readRows } from '../../../test/ingest/read-feed.ts'
import { EXCHANGES, startWorld } from '../../../test/ingest/recording.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import { fetchOverHttp } from '../../venues/rest/fetch-over-http.ts'
import type { Fetch } from '../../venues/rest/http.ts'
import { feedOf } from '../shared/feeds.ts'
import { supervise } from '../supervise.ts'
import { recordExchange } from './record-exchange.ts'

/** Settled at both venues. */
const DUE_MS = Date.parse('2026-11-10T08:00:00Z')
const PUBLISHED_MS = DUE_MS + 150_000

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

async function* bodyOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

for (const at of ['futures', 'perp'] as const) {
  const { name, source } = EXCHANGES[at]
  test(`${name}: an hour whose rate is late is not observed until the rate is there`, async (t) => {
    const { clock, sandbox, close } = await startWorld(pacedClock(DUE_MS - 90_000, 200))
    const fetch: Fetch = async (url, init) => {
      const answer = await fetchOverHttp(url, init)
      const isFunding = url.includes('fundingRate') || init.body?.includes('fundingHistory') === true
      if (!isFunding || clock.now() >= PUBLISHED_MS || answer.body === null) return answer
      const rows = JSON.parse(await textOf(answer.body)) as { time?: number; fundingTime?: number }[]
      const published = rows.filter((row) => (row.time ?? row.fundingTime ?? 0) < DUE_MS)
      return { ...answer, body: bodyOf(JSON.stringify(published)) }
    }
    const store = await storesIn(':memory:', clock).environment('test', { holdMs: 25 })
    const { plan, create } = VENUES[name]
    const log = createLogger({ level: 'silent' })
    const venue = create({
      ...{ clock, fetch },
      hosts: { rest: sandbox[at].restUrl, stream: sandbox[at].wsUrl },
    })
    const recorder = recordExchange({
      ...{ plan, venue, store, clock, random: Math.random, log, symbols: ['BTC'], backfill: false },
    })
    const { coverage } = store
    const supervisor = supervise({ recorders: [recorder], coverage, clock, random: Math.random, log })
    t.after(async () => {
      await supervisor.close()
      await store.close()
      await close()
    })

    const feed = feedOf('funding', source, 'BTC')
    const wrong: string[] = []
    let isThere = false
    for (let nowMs = DUE_MS - 60_000; nowMs < PUBLISHED_MS + 150_000; nowMs += 1_000) {
      await clock.runUntil(nowMs)
      const rows = await readRows(store, feed, { fromMs: DUE_MS - 8 * 3_600_000, toMs: DUE_MS + 1 })
      isThere = Date.parse(rows.at(-1)?.timestamp ?? '') === DUE_MS
      const { observed } = await coverage.read([feed], DUE_MS, DUE_MS + 1)
      const after = `${(nowMs - DUE_MS) / 1_000} s after the hour`
      if (observed.length > 0 && !isThere) wrong.push(`${after}: observed without its rate`)
      const nextTimes = rows.map((row) => Date.parse(String(row.next_funding_time)))
      const skipping = rows.filter((_, index) => !isThere && (nextTimes[index] ?? 0) > DUE_MS)
      for (const row of skipping) wrong.push(`${after}: ${row.timestamp} with ${row.next_funding_time}`)
    }
    assert.deepEqual(wrong, [])
    assert.ok(isThere, 'the rate is stored once it is published')
    assert.equal((await coverage.read([feed], DUE_MS, DUE_MS + 1)).complete, true)
  })
}

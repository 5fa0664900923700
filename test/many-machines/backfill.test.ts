/** `tapeline backfill` on a shared store: the process that records the venue writes, or nobody else does. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DAY_MS, formatTime } from '../../src/core/time.ts'
import { candleFeed } from '../../src/ingest/shared/feeds.ts'
import { cliJson, dataFolder } from '../fakes/service.ts'
import { withoutPostgres } from '../postgres/test-postgres.ts'
import { until } from '../until.ts'
import { type Machines, startMachines, WORKER } from './machines.ts'

const PART = 'record:cexa/live'
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS
/** Before what is filled by itself. */
const [FIRST, SECOND] = [TODAY_MS - 45 * DAY_MS, TODAY_MS - 41 * DAY_MS]

let machines: Machines
const folder = dataFolder()
before(async () => {
  if (withoutPostgres === false) machines = await startMachines()
})
after(async () => {
  await machines?.close()
  folder.remove()
})

const backfill = (fromMs: number, days: number) =>
  cliJson<{ rowsInserted: number; failed: number }>(
    folder.path,
    [
      ...['backfill', '--source', 'cexa', '--symbol', 'BTC', '--environment', 'live'],
      ...['--from', formatTime(fromMs), '--to', formatTime(fromMs + days * DAY_MS)],
    ],
    machines.env,
  )

async function minutes(fromMs: number, days: number): Promise<number> {
  const store = await machines.stores.environment('live')
  const range = { from: fromMs, to: fromMs + days * DAY_MS }
  const count = await store.series.count({
    ...{ feeds: [candleFeed('cexa', 'BTC', '1m')], range, order: 'asc', limit: 100_000 },
  })
  await store.close()
  return count
}

test('while nobody records, the command takes the lease for as long as it writes', {
  skip: withoutPostgres,
}, async () => {
  const { rowsInserted, failed } = await backfill(FIRST, 2)
  assert.equal(failed, 0)
  assert.ok(rowsInserted > 2_880)
  assert.equal(await minutes(FIRST, 2), 2_880)
  const lease = (await machines.leases()).find(({ part }) => part === PART)
  assert.match(lease?.holder ?? '', /backfill$/)
  assert.equal(lease?.leftMs, 0, 'it has given the lease back')
  assert.equal(lease?.term, 2, 'a term for each day')
})

test('while a process records, it is asked, and the command shows its result', {
  skip: withoutPostgres,
}, async () => {
  const worker = await machines.start(WORKER)
  const leads = async () =>
    (await machines.leases()).some(
      ({ part, holder, leftMs }) => part === PART && leftMs > 0 && holder.endsWith(`:${worker.pid}`),
    )
  await until('it leads', leads, 180_000, 100)
  const { rowsInserted, failed } = await backfill(SECOND, 1)
  assert.equal(failed, 0)
  assert.ok(rowsInserted > 1_440)
  assert.equal(await minutes(SECOND, 1), 1_440)
  assert.match(worker.printed(), /a command asked for a backfill/)
  assert.ok(await leads(), 'it leads on')
})

/** What every engine must guarantee about the operator's notices and the minutes in which the service answered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountsStore } from '../accounts.ts'
import type { NoticeRecord, NoticesStore } from '../notices.ts'
import { MINUTE_MS, MINUTES_PER_SLOT, UPTIME_KEPT_MS, type UptimeStore } from '../uptime.ts'
import { ENGINES, type StoreEngine, withFreshStore } from './engines.ts'

const withNotices = (
  engine: StoreEngine,
  run: (store: AccountsStore & NoticesStore & UptimeStore) => Promise<void>,
) => withFreshStore(engine, (stores) => stores.accounts(), run)

const NOTICE: NoticeRecord = {
  id: 'ntc_1',
  kind: 'incident',
  title: 'Trades are late',
  text: 'two lines\nand "quotes"',
  startsAtMs: 1_000,
  endsAtMs: null,
  updatedAtMs: 1_500,
}

for (const engine of ENGINES) {
  test(`${engine.name}: a notice is replaced by its id, listed until it has ended, latest start first, and deleted once`, () =>
    withNotices(engine, async (store) => {
      const listed = async (endAfterMs: number, limit = 9) =>
        (await store.listNotices({ endAfterMs, limit })).map(({ id }) => id)
      await store.putNotice({ ...NOTICE, title: 'a first text' })
      await store.putNotice(NOTICE)
      assert.deepEqual(await store.listNotices({ endAfterMs: 9_000, limit: 9 }), [NOTICE])
      await store.putNotice({
        ...NOTICE,
        id: 'ntc_2',
        kind: 'maintenance',
        startsAtMs: 2_000,
        endsAtMs: 3_000,
      })
      assert.deepEqual(await listed(2_999), ['ntc_2', 'ntc_1'])
      assert.deepEqual(await listed(2_999, 1), ['ntc_2'])
      assert.deepEqual(await listed(3_000), ['ntc_1'], 'one that ends at that time has ended')
      await store.putNotice({ ...NOTICE, endsAtMs: 2_500 })
      assert.deepEqual(await listed(2_600), ['ntc_2'])
      assert.deepEqual([await store.deleteNotice('ntc_2'), await store.deleteNotice('ntc_2')], [true, false])
      assert.deepEqual(await listed(0), ['ntc_1'])
    }))

  test(`${engine.name}: a minute is marked once by however many processes, and forgotten when it is too old`, () =>
    withNotices(engine, async (store) => {
      const atMs = 1_000_000 * MINUTES_PER_SLOT * MINUTE_MS
      await Promise.all(
        [0, 0, 1, MINUTES_PER_SLOT - 1].map((minute) => store.markUp(atMs + minute * MINUTE_MS)),
      )
      await store.markUp(atMs + MINUTES_PER_SLOT * MINUTE_MS + 59_999)
      assert.deepEqual(await store.listUptime(atMs), [
        { slot: 1_000_000, minutes: 2 ** 29 + 2 + 1 },
        { slot: 1_000_001, minutes: 1 },
      ])
      assert.deepEqual(await store.listUptime(atMs + MINUTES_PER_SLOT * MINUTE_MS), [
        { slot: 1_000_001, minutes: 1 },
      ])
      await store.markUp(atMs + UPTIME_KEPT_MS + MINUTES_PER_SLOT * MINUTE_MS)
      assert.deepEqual(
        (await store.listUptime(0)).map(({ slot }) => slot - 1_000_000),
        [1, 1 + UPTIME_KEPT_MS / MINUTE_MS / MINUTES_PER_SLOT],
      )
    }))
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { dataFolder, silentLog } from '../../test/fakes/service.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { until } from '../../test/until.ts'
import { DAY_MS } from '../core/time.ts'
import type { DiskUse } from '../store/disk-use.ts'
import { startMeasuring } from './disk-use.ts'

const HOUR_MS = 3_600_000
const GB = 1e9
const START = Date.UTC(2026, 5, 15)

test('growth is that of the last day, the date when the disk is full follows from it, and both survive a restart', async () => {
  const folder = dataFolder()
  const clock = manualClock(START)
  const stores = storesIn(folder.path, clock)
  let candles = 10 * GB
  const use = (): DiskUse => ({
    parts: [
      { environment: 'live', part: 'candles', bytes: candles, rows: 1 },
      { environment: null, part: 'accounts', bytes: GB, rows: null },
    ],
    reusableBytes: GB,
  })
  const start = () =>
    startMeasuring({
      stores: { diskUse: async () => use(), coordination: stores.coordination },
      ...{ clock, log: silentLog },
      config: { minFreeBytes: GB, diskBytes: null },
      room: { freeBytes: () => 99 * GB, isLow: () => false },
    })
  let measuring = start()
  const measured = async () => {
    await until('it is measured', () => measuring.report()?.measuredAtMs === clock.now())
    return measuring.report()
  }
  try {
    clock.advance(15_000)
    const first = await measured()
    assert.deepEqual([first?.usedBytes, first?.growthPerDay, first?.fullAtMs], [11 * GB, null, null])

    for (let hour = 0; hour < 30; hour++) {
      candles += hour < 6 ? GB : GB / 24
      for (let i = 0; i < 6; i++) {
        clock.advance(10 * 60_000)
        await measured()
      }
    }
    const later = measuring.report()
    assert.ok(Math.abs((later?.growthPerDay ?? 0) - GB) < GB / 20, `${later?.growthPerDay} a day`)
    assert.deepEqual(
      later?.parts.map(({ part, growthPerDay }) => [part, growthPerDay === 0]),
      [
        ['candles', false],
        ['accounts', true],
      ],
    )
    const leftDays = ((later?.fullAtMs ?? 0) - clock.now()) / DAY_MS
    assert.ok(Math.abs(leftDays - 100) < 5, `${leftDays} days`)

    await measuring.close()
    clock.advance(HOUR_MS)
    measuring = start()
    clock.advance(15_000)
    const again = await measured()
    assert.ok(Math.abs((again?.growthPerDay ?? 0) - GB) < GB / 10, `${again?.growthPerDay} a day`)

    candles -= 5 * GB
    clock.advance(10 * 60_000)
    const shrunk = await measured()
    assert.ok((shrunk?.growthPerDay ?? 0) < 0)
    assert.equal(shrunk?.fullAtMs, null)
  } finally {
    await measuring.close()
    folder.remove()
  }
})

test('the disk of a server is known by its size: below the floor it is low', async () => {
  const clock = manualClock(START)
  const folder = dataFolder()
  const stores = storesIn(folder.path, clock)
  const parts = [{ environment: null, part: 'accounts', bytes: 95 * GB, rows: null }] as const
  const measuring = startMeasuring({
    stores: { diskUse: async () => ({ parts, reusableBytes: 0 }), coordination: stores.coordination },
    ...{ clock, log: silentLog, room: undefined },
    config: { minFreeBytes: 10 * GB, diskBytes: 100 * GB },
  })
  try {
    clock.advance(15_000)
    await until('it is measured', () => measuring.report() !== undefined)
    assert.deepEqual([measuring.report()?.freeBytes, measuring.report()?.isLow], [5 * GB, true])
  } finally {
    await measuring.close()
    folder.remove()
  }
})

test('growth is known again after a start with a clock that was ahead', async () => {
  const clock = manualClock(START + 30 * DAY_MS)
  const folder = dataFolder()
  const stores = storesIn(folder.path, clock)
  const parts = [{ environment: null, part: 'accounts', bytes: GB, rows: null }] as const
  const start = () =>
    startMeasuring({
      stores: { diskUse: async () => ({ parts, reusableBytes: 0 }), coordination: stores.coordination },
      ...{ clock, log: silentLog, room: undefined },
      config: { minFreeBytes: null, diskBytes: null },
    })
  let measuring = start()
  const advance = async (ms: number) => {
    clock.advance(ms)
    await until('it is measured', () => measuring.report()?.measuredAtMs === clock.now())
  }
  try {
    await advance(15_000)
    await measuring.close()
    clock.advance(-30 * DAY_MS)
    measuring = start()
    await advance(15_000)
    for (let i = 0; i < 6; i++) await advance(10 * 60_000)
    assert.equal(measuring.report()?.growthPerDay, 0)
  } finally {
    await measuring.close()
    folder.remove()
  }
})

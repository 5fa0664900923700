import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { STARTING_MS } from '../api/endpoints/account/service-status.ts'
import { createLogger } from '../kit/log.ts'
import { openStores, parseStoreAddress } from '../store/open-stores.ts'
import { sharedReports } from './part-reports.ts'
import { watchDeliverers } from './watch-deliverers.ts'

const log = createLogger({ level: 'silent' })

test('webhooks that no process delivers are a fault, if there are any', async () => {
  const clock = manualClock(1_000_000)
  const store = openStores(parseStoreAddress(':memory:'), clock).coordination()
  const started = (roles: readonly string[]) => {
    const reports = sharedReports(store, { clock, log })
    const does = (role: string) => roles.includes(role)
    let active = 1
    const parts = { environment: 'live' as const, reports, does, clock }
    const deliverers = watchDeliverers(parts, { activeWebhooks: () => active })
    return {
      set active(count: number) {
        active = count
      },
      isMissing: deliverers.isMissing,
      fault: () => deliverers.check().catch((error: Error) => error.message),
      stop: () => reports.close(),
    }
  }
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1_000) {
      clock.advance(1_000)
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const api = started(['api'])
  await pass(STARTING_MS)
  assert.equal(await api.fault(), undefined, 'the others may be starting')
  await pass(1_000)
  assert.equal(await api.fault(), 'no process delivers')
  api.active = 0
  assert.equal(await api.fault(), undefined, 'nothing is to be delivered')
  api.active = 1
  const workers = [started(['deliver']), started(['deliver'])]
  await pass(5_000)
  assert.equal(api.isMissing(), false)
  await workers[0]?.stop()
  await pass(30_000)
  assert.equal(api.isMissing(), false, 'the other one delivers')
  await workers[1]?.stop()
  await pass(19_000)
  assert.equal(api.isMissing(), false)
  await pass(3_000)
  assert.equal(await api.fault(), 'no process delivers')
  await api.stop()
  await store.close()
})

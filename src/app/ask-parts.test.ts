import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../test/fakes/service.ts'
import { StoreUnavailableError, WritesRefusedError } from '../core/store-unavailable.ts'
import { createLogger } from '../kit/log.ts'
import { askParts, canAnswer, sharedReadiness } from './ask-parts.ts'
import type { ReadinessProbe } from './parts.ts'

const well = async () => {}
const fails = (why: string) => () => Promise.reject(new Error(why))

test('a venue that is stale makes the service not ready, and it still answers; without a store it does not', async () => {
  const accounts: ReadinessProbe = { name: 'accounts', isStore: true, check: well }
  const recorders: ReadinessProbe = { name: 'live recorders', check: fails('cexa is stale') }
  assert.deepEqual(await askParts([accounts, recorders]), {
    ready: false,
    parts: [
      { name: 'accounts', ok: true },
      { name: 'live recorders', ok: false, detail: 'cexa is stale' },
    ],
  })
  assert.equal(await canAnswer([accounts, recorders]), true)
  const away: ReadinessProbe = { name: 'live store', isStore: true, check: fails('it is away') }
  assert.equal(await canAnswer([accounts, away]), false)
})

test('callers within a second share one run', async () => {
  let asked = 0
  let nowMs = 0
  const accounts: ReadinessProbe = {
    name: 'accounts',
    isStore: true,
    check: async () => {
      asked++
    },
  }
  const readiness = sharedReadiness([accounts], { log: silentLog, nowMs: () => nowMs })
  await Promise.all(Array.from({ length: 100 }, readiness))
  nowMs = 999
  await readiness()
  assert.equal(asked, 1)
  nowMs = 1_000
  await readiness()
  assert.equal(asked, 2)
})

test('the text of a store that is away is in the log, once, and not shown', async () => {
  const lines: string[] = []
  let problem: Error | undefined
  let nowMs = 0
  const accounts: ReadinessProbe = {
    name: 'accounts',
    isStore: true,
    check: async () => {
      if (problem !== undefined) throw problem
    },
  }
  const log = createLogger({ level: 'info', write: (line) => void lines.push(line) })
  const readiness = sharedReadiness([accounts], { log, nowMs: () => nowMs })
  const detail = async () => {
    nowMs += 1_000
    return (await readiness()).parts[0]?.detail
  }
  problem = new StoreUnavailableError('No PostgreSQL server accepts connections (db1.internal:5432).')
  assert.equal(await detail(), 'The store cannot be reached at the moment.')
  problem = new WritesRefusedError('PostgreSQL: db1.internal is read-only')
  assert.equal(await detail(), 'The store accepts no writes at the moment.')
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /db1\.internal/)
  problem = undefined
  assert.equal(await detail(), undefined)
  problem = new StoreUnavailableError('away')
  await detail()
  assert.equal(lines.length, 2)
})

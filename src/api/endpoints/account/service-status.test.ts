import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idleNotice, nothingToRecord } from './idle-notice.ts'
import { type ServiceStatus, serviceStatus } from './service-status.ts'

const NEVER = { dataset: 'candles', interval: '1m', from: null, to: null }
const source = (status: 'healthy' | 'down', hasRecord: boolean): ServiceStatus['ingestion'][number] => ({
  ...{
    source: 'cexa',
    status,
    lag_seconds: null,
    rows_inserted: 0,
    gaps_24h: 0,
    backfill: null,
    audit: { checked: 0, differences: 0 },
    notice: null,
  },
  last_event_at: null,
  coverage: [
    hasRecord ? { ...NEVER, from: '2026-03-14T04:00:00.000Z', to: '2026-03-14T05:00:00.000Z' } : NEVER,
  ],
})
const statusOf = (
  ingestion: ServiceStatus['ingestion'],
  isStarting: boolean,
  state: 'ok' | 'low' = 'ok',
  isUndelivered = false,
) =>
  serviceStatus(
    {
      environment: 'test',
      ingestion,
      nodes: [],
      index: { state: 'off', restarts: 0, coverage_from: null, gaps_24h: 0, gaps: [] },
      webhooks: { pending: 0, oldest_pending_seconds: 0 },
      disk: {
        ...{ state, measured_at: null, used_bytes: null, free_bytes: null },
        ...{ growth_bytes_per_day: null, full_at: null, parts: [] },
      },
      notice: null,
    },
    { isStarting, isUndelivered },
  ).status

test('a source that has not recorded anything yet is not a fault at the start, but is later', () => {
  const fresh = [source('down', false), source('healthy', true)]
  assert.equal(statusOf(fresh, true), 'ok')
  assert.equal(statusOf(fresh, false), 'degraded')
  assert.equal(statusOf([source('down', false)], false), 'down')
})

test('a source that has recorded before and is down now is a fault at any time', () => {
  assert.equal(statusOf([source('down', true)], true), 'down')
})

test('a disk that is nearly full is a fault while everything still works', () => {
  assert.equal(statusOf([source('healthy', true)], false, 'low'), 'degraded')
  assert.equal(statusOf([], false, 'low'), 'degraded')
  assert.equal(statusOf([source('down', true)], false, 'low'), 'down')
})

test('webhooks that no process delivers are a fault while everything else works', () => {
  assert.equal(statusOf([source('healthy', true)], false, 'ok', true), 'degraded')
})

const OFF = { test: true, sandbox: false, live: [], nodes: [] }

test('where nothing is recorded the settings that change it are named, and only there', () => {
  assert.equal(nothingToRecord({ ...OFF, sandbox: true }), undefined)
  assert.equal(nothingToRecord({ ...OFF, live: ['cexa'] }), undefined)
  assert.equal(nothingToRecord({ ...OFF, nodes: ['ws://127.0.0.1:18110'] }), undefined)
  for (const text of [nothingToRecord(OFF), nothingToRecord({ ...OFF, test: false, sandbox: true })]) {
    for (const name of ['TAPELINE_SANDBOX', 'TAPELINE_LIVE', 'TAPELINE_NODES'])
      assert.match(text ?? '', new RegExp(name))
  }
  assert.match(nothingToRecord({ ...OFF, test: false, sandbox: true }) ?? '', /TAPELINE_TEST=on/)
})

test('each environment reports which half of it is idle', () => {
  assert.deepEqual(idleNotice({ ...OFF, sandbox: true }, 'test'), { market: null, chain: null })
  const off = idleNotice(OFF, 'test')
  assert.match(off.market ?? '', /TAPELINE_SANDBOX=on .*TAPELINE_LIVE/)
  assert.match(off.chain ?? '', /TAPELINE_SANDBOX=on .*TAPELINE_NODES/)
  const live = idleNotice({ ...OFF, live: ['cexa'] }, 'live')
  assert.equal(live.market, null)
  assert.match(live.chain ?? '', /No node is connected in the live environment\. Set TAPELINE_NODES/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mapMarket } from './mapper.ts'

const startOf = (slug: string, endDate: string) => {
  const wire = { id: '1', conditionId: '0x1', slug, endDate, outcomes: '["Up","Down"]' }
  const seen = mapMarket(wire as Parameters<typeof mapMarket>[0], Date.parse(endDate))
  return new Date(seen?.market.startTime ?? Number.NaN).toISOString()
}

test('a daily window begins at the noon before in New York, whatever its clock did since', () => {
  const starts = {
    '2026-10-31T16:00:00Z': '2026-10-30T16:00:00.000Z',
    '2026-11-01T17:00:00Z': '2026-10-31T16:00:00.000Z',
    '2026-11-02T17:00:00Z': '2026-11-01T17:00:00.000Z',
    '2027-03-14T16:00:00Z': '2027-03-13T17:00:00.000Z',
  }
  for (const [end, start] of Object.entries(starts))
    assert.equal(startOf('bitcoin-up-or-down-on-november-1-2026', end), start, end)
})

test('an hourly window has an hour, also when the clock shows it twice', () => {
  for (const hour of ['05', '06', '07']) {
    const start = `2026-11-01T0${Number(hour) - 1}:00:00.000Z`
    const slug = 'bitcoin-up-or-down-november-1-2026-1am-et'
    assert.equal(startOf(slug, `2026-11-01T${hour}:00:00Z`), start)
  }
})

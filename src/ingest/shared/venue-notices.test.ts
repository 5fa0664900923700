import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogger } from '../../kit/log.ts'
import { kalshiDescription as describe } from '../../venues/kalshi/describe.ts'
import type { VenueNotice } from '../../venues/venue.ts'
import { createVenueNotices } from './venue-notices.ts'

test('a notice is in the status while it holds and in the log once per time that it begins', () => {
  const logged: unknown[] = []
  const log = createLogger({ level: 'silent' })
  log.warn = (_about: unknown, line?: unknown) => void logged.push(line)
  let notices: VenueNotice[] = []
  const all = createVenueNotices(log)
  all.add({
    describe,
    get notices() {
      return notices
    },
  })
  assert.equal(all.of('predmkt_b'), null)
  const rejected: VenueNotice = { venue: 'kalshi', code: 'credentials_rejected', line: 'the key is rejected' }
  notices = [rejected]
  assert.deepEqual([all.of('predmkt_b'), all.of('predmkt_b')], [rejected.line, rejected.line])
  assert.deepEqual(logged, [rejected.line])
  notices = []
  assert.equal(all.of('predmkt_b'), null)
  notices = [rejected]
  assert.equal(all.of('predmkt_b'), rejected.line)
  assert.equal(logged.length, 2)
  assert.equal(all.of('cexa'), null)
})

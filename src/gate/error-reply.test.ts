import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { errorReply, toApiError } from './error-reply.ts'

test('a store that is away is a 503 to be tried again, without details of the server', () => {
  const away = new StoreUnavailableError('PostgreSQL: terminating connection of db1.internal')
  const reply = errorReply(toApiError(away), 'req_1', undefined)
  assert.equal(reply.status, 503)
  assert.equal(reply.error, 'environment_unavailable')
  assert.equal(reply.headers[reply.headers.indexOf('Retry-After') + 1], '5')
  assert.doesNotMatch(String(reply.body), /db1|PostgreSQL/)
})

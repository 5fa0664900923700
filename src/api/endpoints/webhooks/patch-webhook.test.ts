import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreUnavailableError } from '../../../core/store-unavailable.ts'
import { UNUSED_SUBSCRIPTION } from '../../../store/jobs.ts'
import { patchWebhook } from './patch-webhook.ts'

test('a change that was made is answered as made, also where the credits cannot be read after it', async () => {
  const record = { ...UNUSED_SUBSCRIPTION, id: 'wh_a', createdAtMs: 1 }
  const answerWith = async (error: Error) => {
    const webhooks = { subscriptions: { patch: async () => record }, pauseOf: () => Promise.reject(error) }
    const given = { services: { webhooks }, caller: {}, input: { id: 'wh_a' }, body: { active: true } }
    return patchWebhook.run(given as unknown as Parameters<typeof patchWebhook.run>[0])
  }
  const answer = await answerWith(new StoreUnavailableError('away'))
  assert.equal((answer as { value: { paused_reason: unknown } }).value.paused_reason, null)
  await assert.rejects(answerWith(new Error('wrong')), /wrong/)
})

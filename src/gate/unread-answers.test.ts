import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnreadAnswers } from './unread-answers.ts'

const MIB = 1024 * 1024

test('with too many bytes of all accounts, each that has some reads first, and the others go on', () => {
  const unread = new UnreadAnswers()
  const names = Array.from({ length: 17 }, (_, n) => `acc_${n}`)
  const [first, ...others] = names.map((name) => unread.hold(name, 62 * MIB))
  for (const name of names) assert.throws(() => unread.check(name), { kind: 'rate_limited' })
  unread.check('acc_new')
  first?.()
  first?.()
  for (const name of names) unread.check(name)
  for (const release of others) release()
  unread.hold('acc_1', 128 * MIB)
  unread.check('acc_1')
  unread.hold('acc_1', 1)
  assert.throws(() => unread.check('acc_1'), /129 MiB of answers/)
  const ownCode = { kind: 'rate_limit_exceeded' }
  assert.throws(() => unread.check('acc_1', 'rate_limit_exceeded'), ownCode, 'that of the endpoint')
})

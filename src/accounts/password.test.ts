import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswords } from './password.ts'

test('a password is stored as a salted argon2id hash and verified against it', async () => {
  const passwords = createPasswords()
  const [a, b] = await Promise.all([passwords.hash('correct horse'), passwords.hash('correct horse')])
  assert.match(a, /^argon2id\$19456\$2\$1\$/)
  assert.notEqual(a, b)
  assert.equal(await passwords.verify('correct horse', a), true)
  assert.equal(await passwords.verify('Correct horse', a), false)
  assert.equal(await passwords.verify('correct horse', undefined), false)
})

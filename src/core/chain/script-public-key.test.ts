import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinScriptPublicKey, normaliseScriptPublicKey, splitScriptPublicKey } from './script-public-key.ts'

const SCRIPT = '207bc04196f1125e4f2676cd09ed14afb77223b1f62177da5488346323eaa91a69ac'

test('both spellings become the same lower-case hex form', () => {
  const expected = { ok: true, hex: `0000${SCRIPT}` }
  assert.deepEqual(normaliseScriptPublicKey(`0000${SCRIPT}`), expected)
  assert.deepEqual(normaliseScriptPublicKey(`0000${SCRIPT.toUpperCase()}`), expected)
  assert.deepEqual(normaliseScriptPublicKey({ version: 0, script: SCRIPT }), expected)
  assert.deepEqual(normaliseScriptPublicKey({ version: 0n, script: SCRIPT }), expected)
  assert.deepEqual(normaliseScriptPublicKey({ version: 0x1234, script: '' }), { ok: true, hex: '1234' })
})

test('inputs that crash a node are refused', () => {
  const wrong: unknown[] = [
    { version: '0', script: SCRIPT },
    { version: 0.5, script: SCRIPT },
    { version: -1, script: SCRIPT },
    { version: 65536, script: SCRIPT },
    { version: 2n ** 64n, script: SCRIPT },
    { version: -1n, script: SCRIPT },
    { version: null, script: SCRIPT },
    { script: SCRIPT },
    { version: 0, script: 5 },
    { version: 0, script: null },
    { version: 0, script: [32] },
    { version: 0 },
    {},
    { version: 0, script: SCRIPT, extra: 1 },
    { version: 0, script: 'abc' },
    { version: 0, script: 'zz' },
  ]
  for (const value of wrong)
    assert.equal(normaliseScriptPublicKey(value).ok, false, JSON.stringify(value, big))
})

test('text that is not version and script, and every other type, is refused', () => {
  for (const value of [
    '',
    '00',
    '000',
    '0000a',
    '0000zz',
    ' 000020',
    '0x0000',
    null,
    undefined,
    5,
    true,
    [],
    ['0000'],
  ]) {
    assert.equal(normaliseScriptPublicKey(value).ok, false, String(value))
  }
  assert.equal(normaliseScriptPublicKey(`0000${'51'.repeat(10_001)}`).ok, false)
  assert.equal(normaliseScriptPublicKey(`0000${'51'.repeat(10_000)}`).ok, true)
})

test('splitting and joining are inverse', () => {
  assert.deepEqual(splitScriptPublicKey(`00ff${SCRIPT}`), { version: 255, script: SCRIPT })
  assert.equal(joinScriptPublicKey({ version: 255, script: SCRIPT }), `00ff${SCRIPT}`)
})

function big(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

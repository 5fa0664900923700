import assert from 'node:assert/strict'
import { test } from 'node:test'
import { number, ParamRefusal, symbol } from './params.ts'

const amount = number('An amount.', { min: 0, max: 1e12 })

test('numbers in every usual form; nothing else', () => {
  const forms = { '5': 5, '+5': 5, '5.': 5, '.5': 0.5, '0.50': 0.5, '1e3': 1_000, '1.5E-2': 0.015 }
  for (const [text, value] of Object.entries(forms)) assert.equal(amount.read(text), value, text)
  for (const text of ['', '.', 'e3', '1e', '1e9999', '1_000', '0x10', 'NaN', 'Infinity', '-1', '1,5', ' 1']) {
    assert.ok(amount.read(text) instanceof ParamRefusal, text)
  }
})

test('a long text that is no number is refused in time by its length, not by the square of it', () => {
  const text = `${'1'.repeat(8_000)}x`
  const began = process.cpuUsage()
  for (let count = 0; count < 100; count++) assert.ok(amount.read(text) instanceof ParamRefusal)
  const { user } = process.cpuUsage(began)
  // This took twenty seconds with two adjacent unbounded runs of digits.
  assert.ok(user < 1_000_000, `${user} µs`)
})

test('a symbol in any case; no other letter whose capital is one of its letters', () => {
  for (const text of ['SOL', 'sol', 'sOl']) assert.equal(symbol().read(text), 'SOL')
  for (const text of ['ſol', 'ſOL', 'ＳＯＬ', ' SOL', 'SOL\n', '']) {
    assert.ok(symbol().read(text) instanceof ParamRefusal, text)
    assert.ok(symbol({ orIdentifier: 'a slug' }).read(text) instanceof ParamRefusal, text)
  }
})

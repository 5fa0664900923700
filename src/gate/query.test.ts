import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../core/errors.ts'
import { parseQuery } from './query.ts'

const values = (search: string) => Object.fromEntries(parseQuery(search).values)

test('names and values are decoded; empty parts are ignored', () => {
  assert.deepEqual(values(''), {})
  assert.deepEqual(values('a=1&b=x%20y&c=x+y&&d=&e'), { a: '1', b: 'x y', c: 'x y', d: '', e: '' })
  assert.deepEqual(values('a=1=2&%62=%C3%A9'), { a: '1=2', b: 'é' })
  assert.deepEqual(
    values('__proto__=1&constructor=2'),
    Object.fromEntries([
      ['__proto__', '1'],
      ['constructor', '2'],
    ]),
  )
})

test('a name given twice is noted, however it is spelt', () => {
  assert.deepEqual(parseQuery('a=1&%61=2&b=1').repeated, ['a'])
})

test('a broken encoding and an endless query are refused', () => {
  for (const search of ['a=%', 'a=%zz', '%ff=1', `a=${'x'.repeat(8_200)}`]) {
    assert.throws(() => parseQuery(search), ApiError)
  }
  assert.throws(
    () => parseQuery('symbol=BTC&start=%zz'),
    (error: ApiError) => error.detail.param === 'start' && error.message.startsWith('start has a broken'),
  )
})

test('a query with too many parameters is refused before any of them is read', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `p${index}=%zz`).join('&')
  assert.throws(
    () => parseQuery(many(65).replaceAll('%zz', 'x')),
    (error: ApiError) => error.detail.param === 'p64' && /more than 64 parameters: p64 /.test(error.message),
  )
  assert.throws(
    () => parseQuery(`a=1&after=${'x'.repeat(8_200)}&b=2`),
    (error: ApiError) => error.detail.param === 'after' && /longer than 8192/.test(error.message),
  )
  assert.equal(parseQuery(many(64).replaceAll('%zz', 'x')).values.size, 64)
})

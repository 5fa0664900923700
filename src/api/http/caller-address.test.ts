import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressMatcher, parseCidr } from '../../kit/ip-range.ts'
import { callerAddress, requestAddress } from './caller-address.ts'

const isTrusted = addressMatcher(['10.0.0.0/8', '::1/128'].flatMap((text) => parseCidr(text) ?? []))
const ask = (remoteAddress: string, forwarded?: string, trusts = isTrusted) =>
  callerAddress(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }, { remoteAddress }, trusts)

test('the peer is the caller, unless it is one of our proxies', () => {
  assert.equal(ask('203.0.113.7'), '203.0.113.7')
  assert.equal(ask('::ffff:203.0.113.7'), '203.0.113.7')
  assert.equal(ask('203.0.113.7', '198.51.100.1'), '203.0.113.7')
  assert.equal(
    ask('10.0.0.1', '198.51.100.1', () => false),
    '10.0.0.1',
  )
})

test('behind our proxies it is the nearest address that is not ours: what comes before it may be forged', () => {
  assert.equal(ask('10.0.0.1', '198.51.100.1'), '198.51.100.1')
  assert.equal(ask('::1', '192.0.2.66, 198.51.100.1, 10.0.0.9'), '198.51.100.1')
  assert.equal(ask('10.0.0.1', ' , 198.51.100.1 ,'), '198.51.100.1')
})

test('where all addresses are our proxies it is the first one', () => {
  assert.equal(ask('10.0.0.1', '10.0.0.3, 10.0.0.2'), '10.0.0.3')
  assert.equal(ask('10.0.0.1', ''), '10.0.0.1')
})

test('a client that is gone has no address, which is no fault', () => {
  assert.equal(requestAddress({ ip: undefined }), '')
  assert.equal(requestAddress({ ip: '::ffff:203.0.113.7' }), '203.0.113.7')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactAddress, redactAddresses } from './redact-address.ts'

test('only the host of an address is shown: no path, query, user or password', () => {
  assert.equal(redactAddress('https://polygon.drpc.org'), 'https://polygon.drpc.org')
  assert.equal(redactAddress('wss://node.example.com:443/'), 'wss://node.example.com')
  assert.equal(redactAddress('wss://node.example.com/v2/secret'), 'wss://node.example.com/***')
  assert.equal(redactAddress('https://rpc.example.com/?key=secret'), 'https://rpc.example.com/***')
  assert.equal(redactAddress('wss://me:se,cr@et@node.example.com'), 'wss://***@node.example.com')
  assert.equal(redactAddress('not an address secret'), '***')
})

test('also inside a longer text', () => {
  const text = 'ws://me:se,cr@et@a.example.com/x and {"url":"wss://b.example.com/secret?k=secret","c":1}'
  assert.equal(
    redactAddresses(text),
    'ws://***@a.example.com/*** and {"url":"wss://b.example.com/***","c":1}',
  )
  assert.equal(redactAddresses('https://me:secret@c.example.com/hook/1'), 'https://***@c.example.com/hook/1')
  assert.equal(redactAddresses('mail to me@example.com, 10:00'), 'mail to me@example.com, 10:00')
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { closeSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { systemErrorSentence } from './system-errors.ts'

function failureOf(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return assert.fail('it did not fail')
}

test('a folder that may not be made, a full disk and a taken port are a sentence each', async () => {
  const denied = Object.assign(new Error('EACCES'), { code: 'EACCES', syscall: 'mkdir', path: '/srv/x' })
  assert.match(systemErrorSentence(denied) ?? '', /^No permission for \/srv\/x\./)
  const full = openSync('/dev/full', 'w')
  assert.equal(systemErrorSentence(failureOf(() => writeSync(full, 'x'))), 'The disk is full.')
  closeSync(full)
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const second = createServer().listen((server.address() as { port: number }).port, '127.0.0.1')
  const [taken] = await once(second, 'error')
  assert.match(systemErrorSentence(taken) ?? '', /^The port \d+ on 127\.0\.0\.1 is taken\./)
  server.close()
})

test('anything else keeps its stack', () => {
  assert.equal(systemErrorSentence(new TypeError('x is not a function')), undefined)
  assert.equal(systemErrorSentence(Object.assign(new Error('refused'), { code: 'EACCES' })), undefined)
})

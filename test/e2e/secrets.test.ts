/** No secret reaches a log line, an error, the OpenAPI document or the printed settings. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { createLogger, redact } from '../../src/kit/log.ts'
import { ask } from '../fakes/client.ts'
import { cli, startTestService, type TestService } from '../fakes/service.ts'

const TOKEN = 'metrics-token-0123456789'
let lines = ''
let service: TestService
let key: string
before(async () => {
  const log = createLogger({
    level: 'trace',
    write: (line) => {
      lines += line
    },
  })
  service = await startTestService({ log, env: { TAPELINE_METRICS_TOKEN: TOKEN } })
  key = await service.key()
})
after(() => service.stop())

test('neither key nor token appears in any answer or log line, whatever is asked', async () => {
  const secret = key.slice('svc_test_'.length, -6)
  const typo = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`
  const texts: string[] = []
  const paths = ['/v1/limits', '/v1/sources', '/v1/nothing', '/openapi.json', '/docs', '/ready', '/metrics']
  for (const path of paths) {
    for (const headers of [
      { 'X-API-Key': key },
      { 'X-API-Key': typo },
      { Authorization: `Bearer ${key}` },
      { Authorization: `Bearer ${TOKEN}x` },
    ]) {
      const answer = await ask(service.url + path, { headers: headers as Record<string, string> })
      texts.push(answer.text, JSON.stringify([...answer.headers]))
    }
    for (const query of [`?api-key=${key}&x=1`, `?api_key=${typo}`, `?api-key=${key}&api-key=${key}`]) {
      const answer = await ask(service.url + path + query)
      texts.push(answer.text, JSON.stringify([...answer.headers]))
    }
  }
  for (const text of [...texts, lines]) {
    assert.ok(!text.includes(secret), text.slice(0, 300))
    assert.ok(!text.includes(TOKEN), text.slice(0, 300))
  }
})

test('a secret is removed wherever it is in a log line', () => {
  let written = ''
  const log = createLogger({
    level: 'info',
    write: (line) => {
      written += line
    },
  })
  log.info({ url: `/v1/limits?api-key=${key}`, deep: { err: new Error(`key ${key} failed`) } }, `got ${key}`)
  log.info({ secret: 'whsec_abcdefghijklmnop' }, 'hook')
  assert.ok(!written.includes(key.slice(9)))
  assert.ok(!written.includes('abcdefghijklmnop'))
  assert.match(written, /svc_test_\*\*\*/)
  assert.equal(redact('GET /v1/x?api_key=abc&limit=1'), 'GET /v1/x?api_key=***&limit=1')
})

test('the data folder holds hashes of keys only', async () => {
  const { readFileSync, readdirSync } = await import('node:fs')
  for (const file of readdirSync(service.folder)) {
    if (!file.startsWith('accounts')) continue
    assert.ok(!readFileSync(`${service.folder}/${file}`).includes(key.slice(9)), file)
  }
})

test('tapeline config prints secrets as ***, also those inside an address', async () => {
  const env = { TAPELINE_METRICS_TOKEN: TOKEN, TAPELINE_NODES: 'wss://user:hunter2@node.example.com:443' }
  for (const args of [['config'], ['config', '--json']]) {
    const { stdout, code } = await cli(service.folder, args, env)
    assert.equal(code, 0)
    assert.ok(!stdout.includes(TOKEN))
    assert.ok(!stdout.includes('hunter2'), stdout)
    assert.match(stdout, /TAPELINE_METRICS_TOKEN/)
    assert.match(stdout, /\*\*\*/)
  }
  assert.throws(
    () => loadConfig({ TAPELINE_METRICS_TOKEN: 'hunter2' }),
    (error: Error) => !error.message.includes('hunter2') && error.message.includes('TAPELINE_METRICS_TOKEN'),
  )
})
